"""A question is a job: the same one is answered once, too many are refused, one that dies harms no other."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest
from support.serving import ThreadedWorker, at_once, threaded

from optimizer.base.errors import Exit, InputError
from optimizer.inputs.catalog.records import Catalogs
from optimizer.serve.jobs import service as door
from optimizer.serve.jobs.job import Job, JobAnswer
from optimizer.serve.jobs.kinds import KINDS
from optimizer.serve.jobs.question import JobQuestion
from optimizer.serve.jobs.service import Full, JobService, ServiceLimits

PREDICTED = {"model": "llama-3.1-8b", "gpu": "l4", "precision": "fp8", "input_tokens": 1024, "output_tokens": 256}


def question(concurrency: int = 8) -> JobQuestion:
    return JobQuestion.of("predict", "", {**PREDICTED, "concurrency": concurrency})


def within(service: JobService, asking: Callable[[JobService], Awaitable[None]]) -> None:
    async def run() -> None:
        async with service:
            await asking(service)

    asyncio.run(run())


def test_the_same_question_is_the_same_job(monkeypatch: pytest.MonkeyPatch, catalogs: Catalogs) -> None:
    async def asking(service: JobService) -> None:
        first = await service.ask(question())
        assert await service.ask(question()) is first
        assert await first.wait(5)
        assert await service.ask(question()) is first
        other = await service.ask(question(9))
        assert other.id != first.id
        assert service.counts.shared == 2

    within(threaded(monkeypatch, catalogs), asking)


@pytest.mark.parametrize(
    "cut_short",
    [JobAnswer.of(b"{}", Exit.UNPROVEN), JobAnswer.of(b"{}", Exit.ANSWERED, is_whole=False)],
    ids=["all", "part"],
)
def test_an_answer_cut_short_is_looked_for_again(
    monkeypatch: pytest.MonkeyPatch, catalogs: Catalogs, cut_short: JobAnswer
) -> None:
    async def asking(service: JobService) -> None:
        first = await service.ask(question())
        await first.wait(5)
        assert await service.ask(question()) is not first

    within(threaded(monkeypatch, catalogs, lambda _: cut_short), asking)


def test_a_full_queue_says_when_to_come_again(monkeypatch: pytest.MonkeyPatch, catalogs: Catalogs) -> None:
    released = threading.Event()

    def waiting(asked: JobQuestion) -> JobAnswer:
        released.wait(10)
        return at_once(asked)

    async def asking(service: JobService) -> None:
        jobs = [await service.ask(question(1))]
        async for progress in jobs[0].events():
            if progress.state == "running":
                break
        jobs += [await service.ask(question(2)), await service.ask(question(3))]
        with pytest.raises(Full) as refused:
            await service.ask(question(4))
        assert refused.value.retry_after_s >= 1
        # what is known already needs no place
        assert await service.ask(question(3)) is jobs[2]
        released.set()
        assert all([await job.wait(5) for job in jobs])
        await service.ask(question(4))

    within(threaded(monkeypatch, catalogs, waiting, max_waiting=2), asking)


def test_a_cancelled_job_ends_and_the_next_is_answered(monkeypatch: pytest.MonkeyPatch, catalogs: Catalogs) -> None:
    released = threading.Event()

    def slow_at_first(asked: JobQuestion) -> JobAnswer:
        if asked == question(1):
            released.wait(10)
        return at_once(asked)

    async def asking(service: JobService) -> None:
        first, waits, other = [await service.ask(question(at)) for at in (1, 2, 3)]
        async for progress in first.events():
            if progress.state == "running":
                break
        assert service.waiting == 2
        assert service.cancel(first.id)
        assert service.cancel(waits.id)
        assert service.waiting == 1
        released.set()
        assert await other.wait(5)
        assert [first.state, waits.state, other.state] == ["cancelled", "cancelled", "done"]
        assert not service.cancel(other.id)
        assert first.answer is None

    within(threaded(monkeypatch, catalogs, slow_at_first), asking)


def test_a_process_that_dies_takes_its_own_job_only(monkeypatch: pytest.MonkeyPatch, catalogs: Catalogs) -> None:
    async def asking(service: JobService) -> None:
        dying, other = await service.ask(question(1)), await service.ask(question(2))
        assert await other.wait(5)
        assert (dying.state, other.state) == ("failed", "done")
        assert dying.answer is not None
        assert "process died" in dying.answer.problem
        assert service.counts.lost == 1

    within(threaded(monkeypatch, catalogs, lambda asked: None if asked == question(1) else at_once(asked)), asking)


def test_who_cancels_what_died_harms_not_the_next(monkeypatch: pytest.MonkeyPatch, catalogs: Catalogs) -> None:
    """While another process takes the place of the dead one, nobody can mean that one any more."""
    renewing, renewed, renew = threading.Event(), threading.Event(), ThreadedWorker.renew

    def slowly(worker: ThreadedWorker) -> None:
        renew(worker)
        renewing.set()
        renewed.wait(10)

    async def asking(service: JobService) -> None:
        dying, other = await service.ask(question(1)), await service.ask(question(2))
        await asyncio.to_thread(renewing.wait, 10)
        assert dying.state == "failed"
        assert not service.cancel(dying.id)
        renewed.set()
        assert await other.wait(5)
        assert other.state == "done"

    monkeypatch.setattr(ThreadedWorker, "renew", slowly)
    within(threaded(monkeypatch, catalogs, lambda asked: None if asked == question(1) else at_once(asked)), asking)


def test_a_process_is_asked_for_until_there_is_one(monkeypatch: pytest.MonkeyPatch, catalogs: Catalogs) -> None:
    tries = list[int]()

    def at_last(_: ThreadedWorker) -> None:
        tries.append(len(tries))
        if len(tries) == 1:
            raise BlockingIOError

    async def asking(service: JobService) -> None:
        assert await (await service.ask(question(1))).wait(5)
        assert await (await service.ask(question(2))).wait(5)
        assert tries[:2] == [0, 1]

    monkeypatch.setattr(ThreadedWorker, "renew", at_last)
    monkeypatch.setattr(door, "RENEWED_AFTER_S", 0.01)
    within(threaded(monkeypatch, catalogs), asking)


def test_events_tell_what_is_known_until_the_end(monkeypatch: pytest.MonkeyPatch, catalogs: Catalogs) -> None:
    async def asking(service: JobService) -> None:
        told = [each async for each in (await service.ask(question())).events()]
        assert told[-1].state == "done"
        assert [told[-1].phase, told[-1].best_usd] == ["solving", 110.0]
        assert told[-1].gap == pytest.approx(1 / 11)

    within(threaded(monkeypatch, catalogs), asking)


def test_what_is_kept_has_an_end(monkeypatch: pytest.MonkeyPatch, catalogs: Catalogs) -> None:
    async def asking(service: JobService) -> None:
        jobs = list[Job]()
        for at in range(1, 8):
            jobs.append(await service.ask(question(at)))
            await jobs[-1].wait(5)
        await service.ask(question(6))
        await asyncio.sleep(0)
        kept = [service.job(job.id) is not None for job in jobs]
        assert kept == [False] * 4 + [True] * 3

    within(
        threaded(monkeypatch, catalogs, lambda _: JobAnswer(b"x" * 1000, Exit.ANSWERED), max_kept_bytes=4000), asking
    )


def test_what_is_asked_and_cancelled_at_once_is_not_kept_for_ever(
    monkeypatch: pytest.MonkeyPatch, catalogs: Catalogs
) -> None:
    released = threading.Event()

    def waiting(asked: JobQuestion) -> JobAnswer:
        released.wait(10)
        return at_once(asked)

    async def asking(service: JobService) -> None:
        for at in range(1, 8):
            service.cancel((await service.ask(question(at))).id)
        assert len(list(service.jobs())) <= 3
        released.set()

    within(threaded(monkeypatch, catalogs, waiting, max_kept_jobs=2), asking)


def test_a_process_of_its_own_answers_and_is_replaced_when_it_is_ended(catalogs: Catalogs) -> None:
    async def asking(service: JobService) -> None:
        ended = await service.ask(question(1))
        async for progress in ended.events():
            if progress.state == "running":
                service._at_work[ended].kill()
        assert ended.answer is not None
        assert ended.answer.exit_code is Exit.OUR_FAULT
        other = await service.ask(question(2))
        assert await other.wait(120)
        assert other.answer is not None
        assert other.answer.content.startswith(b"{")

    within(JobService(catalogs, ServiceLimits(workers=1)), asking)


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"predict"}))
def test_a_question_without_its_scenario_is_refused(kind: str) -> None:
    with pytest.raises(InputError, match="scenario: missing"):
        JobQuestion.of(kind, " \n", {})


def test_options_are_refused_in_plain_words() -> None:
    with pytest.raises(InputError) as refused:
        JobQuestion.of("predict", "", {**PREDICTED, "input_tokens": 0, "gpuu": "l4"})
    fields = {finding.field: finding.problem for finding in refused.value.findings}
    assert fields["gpuu"] == "unknown field"
    assert "greater than or equal to 1" in fields["input_tokens"]
    with pytest.raises(InputError, match="no such kind of question"):
        JobQuestion.of("plam", "x", {})
    with suppress(InputError):
        JobQuestion.of("predict", "name: x", PREDICTED)
        pytest.fail("a prediction is asked of no scenario")
