"""The service under load, for long, under attack, and against the command line's bytes; each starts its own server.

    python benchmarks/serving.py load --clients 50 --questions 200
    python benchmarks/serving.py memory --plans 1000
    python benchmarks/serving.py hostile
    python benchmarks/serving.py answers [SCENARIO …]

Ends with exit code 1 where something is not as it should be. Times are of this machine and of what else runs on it.
"""

import argparse
import asyncio
import json
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2

from optimizer.inputs.catalog.shipped import shipped_dir

MOST_CACHED_MS: Final = 50.0
"""95 of 100 cached answers take less."""
GROWTH: Final = 1.1
"""Memory of the last plans over that of those after the first tenth: level is below this."""
WORK_LIMIT: Final = 60_000
WALL_S: Final = re.compile(rb'"wall_s": [0-9.e-]+')
PAUSE_S: Final = 0.2


@dataclass
class Server:
    """A running `optimizer serve`."""

    process: subprocess.Popen[str]
    address: str

    @property
    def workers(self) -> list[int]:
        """The processes that answer."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [int(child) for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]

    def resident_mb(self) -> list[float]:
        """Memory of the server and of each process that answers."""
        page = os.sysconf("SC_PAGE_SIZE")
        pages = [int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in (self.process.pid, *self.workers)]
        return [each * page / 1e6 for each in pages]


@contextmanager
def serving(*options: str) -> Iterator[Server]:
    """A server on a free port, ended afterwards."""
    command = [sys.executable, "-m", "optimizer", "serve", "--port", "0", "--workers", "2", *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        said = process.stderr.readline()
        found = re.search(r"http://\S+", said)
        assert found is not None, said
        yield Server(process, found[0])
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)
        # what it said meanwhile, and that it was interrupted
        sys.stderr.write(process.stderr.read() if process.stderr else "")


def question(number: int) -> dict[str, Any]:
    """A small question, different for each number."""
    workload = {
        "name": "chat",
        "model": "llama-3.1-8b",
        "requests_per_second": 1 + number / 100,
        "input_tokens": 512,
        "output_tokens": 128,
        "slo": {"ttft_ms": 800, "tpot_ms": 60},
    }
    policy = {"providers": {"allow": ["aws"]}, "gpus": {"allow": ["l4", "l40s"]}}
    return {"scenario": {"name": f"question-{number}", "workloads": [workload], "policy": policy}}


async def until_answered(client: httpx2.AsyncClient, asked: dict[str, Any], seen: Counter[int]) -> float:
    """Asks until there is an answer, waiting as told; seconds of a repeated, cached answer."""
    while True:
        response = await client.post("/v1/plan", params={"wait_s": 30}, json=asked)
        seen[response.status_code] += 1
        if response.status_code == 200:
            break
        await asyncio.sleep(min(float(response.headers.get("Retry-After", PAUSE_S)), 2.0))
    began_s = time.perf_counter()
    response = await client.post("/v1/plan", params={"wait_s": 0}, json=asked)
    seen[response.status_code] += 1
    return time.perf_counter() - began_s


async def load(server: Server, clients: int, questions: int) -> bool:
    """Many clients with many questions; one process is killed on the way, another one's job is cancelled."""
    seen, cached_s, began_s = Counter[int](), list[float](), time.perf_counter()
    waiting = iter(range(questions))

    async def ask(client: httpx2.AsyncClient) -> None:
        for number in waiting:
            cached_s.append(await until_answered(client, question(number), seen))

    limits = httpx2.Limits(max_connections=clients)
    async with httpx2.AsyncClient(base_url=server.address, timeout=120, limits=limits) as client:
        asking = [asyncio.create_task(ask(client)) for _ in range(clients)]
        await asyncio.sleep(20)
        os.kill(server.workers[0], signal.SIGKILL)
        await asyncio.gather(*asking)
        filled_s = time.perf_counter() - began_s
        again_s = list[float]()

        async def ask_again() -> None:
            for number in range(questions):
                began_s = time.perf_counter()
                response = await client.post("/v1/plan", params={"wait_s": 0}, json=question(number))
                again_s.append(time.perf_counter() - began_s)
                seen[response.status_code] += 1

        began_s = time.perf_counter()
        await asyncio.gather(*(ask_again() for _ in range(clients)))
        rate = len(again_s) / (time.perf_counter() - began_s)
        one_s = list[float]()
        for number in range(questions):
            began_s = time.perf_counter()
            await client.post("/v1/plan", params={"wait_s": 0}, json=question(number))
            one_s.append(time.perf_counter() - began_s)
    print(f"{questions} questions of {clients} clients in {filled_s:.0f} s; statuses {dict(sorted(seen.items()))}")
    print(f"cached, while others are worked out: p95 {p95_ms(cached_s):.1f} ms of {len(cached_s)}")
    print(
        f"cached, one client: p50 {statistics.median(one_s) * 1e3:.1f} ms, p95 {p95_ms(one_s):.1f} ms of {len(one_s)}"
    )
    print(f"cached, {clients} clients at once: p95 {p95_ms(again_s):.1f} ms of {len(again_s)}, {rate:.0f} a second")
    # 500 is the one job whose process was killed
    return set(seen) <= {200, 202, 429, 500} and seen[500] <= 1 and p95_ms(cached_s) < MOST_CACHED_MS


def p95_ms(seconds: list[float]) -> float:
    """What 95 of 100 stay below, in milliseconds."""
    return statistics.quantiles(seconds, n=20)[-1] * 1e3


async def memory(server: Server, plans: int, time_limit_s: float) -> bool:
    """Many different plans, two at a time, and what all processes hold meanwhile."""
    held, began_s = list[tuple[int, list[float]]](), time.perf_counter()
    waiting, done = iter(range(plans)), 0
    async with httpx2.AsyncClient(base_url=server.address, timeout=120) as client:

        async def ask() -> None:
            nonlocal done
            for number in waiting:
                if time.perf_counter() - began_s > time_limit_s:
                    return
                await until_answered(client, question(1000 + number), Counter())
                done += 1
                if done % max(10, plans // 40) == 0:
                    held.append((done, server.resident_mb()))

        await asyncio.gather(ask(), ask())
    for at, each in held:
        print(f"after {at} plans: server {each[0]:.0f} MB, processes {', '.join(f'{mb:.0f}' for mb in each[1:])} MB")
    early, late = held[len(held) // 10], held[-1]
    return all(now <= before * GROWTH for before, now in zip(early[1], late[1], strict=True))


def hostile(server: Server) -> bool:
    """Requests that nobody should send; the server refuses them and answers the next."""
    host, port = server.address.removeprefix("http://").split(":")
    fair = f"Host: {host}\r\nContent-Type: application/json\r\n"
    cases = {
        "a body of 10 GB, announced": f"POST /v1/plan HTTP/1.1\r\n{fair}Content-Length: 10000000000\r\n\r\n",
        "a body without an end": f"POST /v1/plan HTTP/1.1\r\n{fair}Transfer-Encoding: chunked\r\n\r\n"
        + "FFFF\r\n"
        + "x" * 65535
        + ("\r\nFFFF\r\n" + "x" * 65535) * 20,
        "a body that never comes": f"POST /v1/plan HTTP/1.1\r\n{fair}Content-Length: 100\r\n\r\n",
        "a head without an end": "GET / HTTP/1.1\r\n" + "X-Y: z\r\n" * 20_000,
        "a head that never ends": "GET / HTTP/1.1\r\nHo",
        "two sizes": f"POST /v1/plan HTTP/1.1\r\n{fair}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{{}}",
        "no HTTP": "\x16\x03\x01\x02\x00\x01\x00",
        "another host": "GET /health HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        "no host": "GET /health HTTP/1.1\r\n\r\n",
        "another site": f"POST /v1/plan HTTP/1.1\r\n{fair}Origin: http://evil.example\r\nContent-Length: 0\r\n\r\n",
        "a path upwards": f"GET /../../etc/passwd HTTP/1.1\r\n{fair}\r\n",
        "a path upwards, written out": f"GET /v1/scenarios/..%2f..%2fpyproject HTTP/1.1\r\n{fair}\r\n",
        "a zero in a path": f"GET /v1/jobs/%00 HTTP/1.1\r\n{fair}\r\n",
        "another scheme": f"GET file:///etc/passwd HTTP/1.1\r\n{fair}\r\n",
        "deep JSON": posted("[" * 100_000, fair),
        "deep YAML in JSON": posted(json.dumps({"scenario": "[" * 100_000}), fair),
        "a YAML bomb": posted(json.dumps({"scenario": "a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]"}), fair),
        "long YAML": posted(json.dumps({"scenario": "a: [" + "1," * 120_000 + "1]"}), fair),
        "a number of digits": posted('{"scenario": ' + "9" * 200_000 + "}", fair),
        "a file by its path": posted(json.dumps({"scenario": "/etc/passwd"}), fair),
        "half of a sign": posted('{"scenario": "\\ud800"}', fair),
    }
    sound = True
    for name, request in cases.items():
        began_s = time.perf_counter()
        said = exchanged(host, int(port), request.encode("latin-1"))
        line = said.split(b"\r\n")[0].decode("latin-1") or "cut off"
        harmful = b"Traceback" in said or b"root:" in said or line.startswith(("HTTP/1.1 2", "HTTP/1.1 5"))
        alive = httpx2.get(f"{server.address}/health", timeout=10).status_code == 200
        sound &= alive and not harmful
        print(f"{name}: {line}, {time.perf_counter() - began_s:.1f} s{'' if alive and not harmful else ' — WRONG'}")
    return sound and many_idle(server, host, int(port)) and many_watching(server, host, int(port))


def many_idle(server: Server, host: str, port: int) -> bool:
    """More connections than the server keeps, none of which says anything; afterwards it answers again."""
    idle = [socket.create_connection((host, port)) for _ in range(400)]
    began_s = time.perf_counter()
    while httpx2.get(f"{server.address}/health", timeout=10).status_code != 200:
        time.sleep(PAUSE_S)
    print(f"400 silent connections: it answers others after {time.perf_counter() - began_s:.1f} s")
    for each in idle:
        each.close()
    return True


def many_watching(server: Server, host: str, port: int) -> bool:
    """More come to watch a job than there are connections; others are still answered, and may still watch by asking."""
    asked = {"scenario": "deepseek-v3", "time_limit_s": 60}
    job = httpx2.post(f"{server.address}/v1/plan", json=asked).json()["job"]
    watching, statuses = list[socket.socket](), Counter[str]()
    for _ in range(300):
        watching.append(socket.create_connection((host, port)))
        watching[-1].sendall(f"GET /v1/jobs/{job}/events HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        statuses[watching[-1].recv(65_536).split(b" ")[1].decode()] += 1
    answer = httpx2.post(f"{server.address}/v1/plan", params={"wait_s": 30}, json=question(0), timeout=60)
    state = httpx2.get(f"{server.address}/v1/jobs/{job}").json()["state"]
    print(f"300 streams of events: {dict(sorted(statuses.items()))}; others: {answer.status_code}, its job: {state}")
    httpx2.delete(f"{server.address}/v1/jobs/{job}")
    for each in watching:
        each.close()
    return answer.status_code in {200, 202} and statuses["200"] > 0


def posted(body: str, head: str) -> str:
    """A request with that body."""
    return f"POST /v1/plan HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\n\r\n{body}"


def exchanged(host: str, port: int, request: bytes) -> bytes:
    """What the server says to a request before it ends the connection, or in 15 s."""
    said = b""
    with socket.create_connection((host, port), timeout=15) as opened:
        try:
            opened.sendall(request)
            while part := opened.recv(65_536):
                said += part
        except OSError:
            pass
    return said


def answers(server: Server, names: list[str]) -> bool:
    """The answer of each scenario beside the command's, both under the same limit of work."""
    wrong = list[str]()
    with httpx2.Client(base_url=server.address, timeout=700) as client:
        for name in names or sorted(file.stem for file in shipped_dir("scenarios").glob("*.yaml")):
            limits = {"time_limit_s": 600, "work_limit": WORK_LIMIT}
            job = client.post("/v1/plan", json={"scenario": name, **limits}).json()["job"]
            client.get(f"/v1/jobs/{job}/events")
            over_http = client.get(f"/v1/jobs/{job}/answer")
            options = [part for key, value in limits.items() for part in (f"--{key.replace('_', '-')}", str(value))]
            command = [sys.executable, "-m", "optimizer", "plan", name, "--format", "json", "--quiet", *options]
            typed = subprocess.run(command, check=False, capture_output=True)
            same = WALL_S.sub(b"", over_http.content) == WALL_S.sub(b"", typed.stdout)
            same &= over_http.headers.get("Optimizer-Exit-Code") == str(typed.returncode)
            print(f"{name}: {'the same' if same else 'DIFFERENT'}, exit code {typed.returncode}", flush=True)
            if not same:
                wrong.append(name)
    return not wrong


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("load", "memory", "hostile", "answers"))
    parser.add_argument("scenarios", nargs="*", help="of answers; all that are shipped unless named")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--plans", type=int, default=1000)
    parser.add_argument("--time-limit-s", type=float, default=3600, help="of memory: no more plans after it")
    given = parser.parse_args()
    with serving() as server:
        if given.what == "load":
            sound = asyncio.run(load(server, given.clients, given.questions))
        elif given.what == "memory":
            sound = asyncio.run(memory(server, given.plans, given.time_limit_s))
        elif given.what == "hostile":
            sound = hostile(server)
        else:
            sound = answers(server, given.scenarios)
    print("as it should be" if sound else "NOT as it should be")
    sys.exit(0 if sound else 1)


if __name__ == "__main__":
    main()
