"""Findings of verification taken out one by one in one run of its tests: which no test fails without.

Every expression of a finding is wrapped when its module is loaded. A test that passes tells which findings failed
while it ran; it is then run again without each of these that nothing holds in place yet.

    PYTHONPATH=benchmarks python -m fuzz.taken_out
"""

import ast
import builtins
import sys
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any, Final

import pytest
from _pytest.runner import runtestprotocol

ROOT: Final = Path(__file__).resolve().parent.parent.parent
PACKAGE: Final = "optimizer.plan.verify"
TESTS: Final = (
    "tests/plan/test_verification_rejects.py",
    "tests/plan/test_verification_covers.py",
    "tests/plan/test_paid_by_second.py",
    "tests/plan/test_unpublished_quality.py",
    "tests/plan/test_batches.py",
    "tests/answers/test_verify.py",
    "tests/answers/test_simplicity.py",
    "tests/answers/test_what_is_avoided.py",
    "tests/answers/test_horizon.py",
    "tests/answers/test_risk.py",
    "tests/answers/test_portfolio.py",
    "tests/performance/test_network.py",
)
"""What forges plans."""
FINDINGS: Final = ("Findings", "Iterator[Finding]", "Summed", "Finding")
"""What a function that yields findings, or returns one, says it does."""
HOOK: Final = "_holds_with_findings_taken_out"


@dataclass
class Findings:
    """What is known of the findings so far.

    Attributes:
        every: Where each stands, with its expression.
        out: The one that is taken out just now.
        tripped: Those that failed since this was emptied.
        held: Those without which a test fails, with the test.
        ever: Those that failed in a test, with the last such test.
    """

    every: dict[str, str] = field(default_factory=dict)
    out: str = ""
    tripped: dict[str, None] = field(default_factory=dict)
    held: dict[str, str] = field(default_factory=dict)
    ever: dict[str, str] = field(default_factory=dict)

    def holds(self, place: str, value: Any) -> Any:
        """What a finding says: that it holds where it is taken out."""
        if value:
            return value
        self.tripped[place] = None
        return place == self.out


class _Wrapped(ast.NodeTransformer):
    """Sends what each finding of a module says through the hook."""

    def __init__(self, file: str, every: dict[str, str]) -> None:
        self._file, self._every, self._inside = file, every, False

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """A finding is a pair that a function of findings yields or returns."""
        before, self._inside = self._inside, node.returns is not None and ast.unparse(node.returns) in FINDINGS
        self.generic_visit(node)
        self._inside = before
        return node

    def visit_Yield(self, node: ast.Yield) -> ast.Yield:
        """Wraps the first of the pair."""
        self._wrap(node.value)
        return node

    def visit_Return(self, node: ast.Return) -> ast.Return:
        """Wraps the first of the pair."""
        self._wrap(node.value)
        return node

    def _wrap(self, pair: ast.expr | None) -> None:
        if self._inside and isinstance(pair, ast.Tuple) and len(pair.elts) == 2:
            said = pair.elts[0]
            if not (isinstance(said, ast.Constant) and said.value is True):
                place = f"{self._file}:{said.lineno}:{said.col_offset}"
                self._every[place] = ast.unparse(pair)
                pair.elts[0] = ast.Call(ast.Name(HOOK, ast.Load()), [ast.Constant(place), said], [])


def wrapped(path: Path, every: dict[str, str]) -> CodeType:
    """The code of a module with its findings wrapped; each is added to `every`."""
    file = path.relative_to(ROOT / "optimizer").as_posix()
    tree = _Wrapped(file, every).visit(ast.parse(path.read_bytes()))
    return compile(ast.fix_missing_locations(tree), path, "exec")


class _Loader(SourceFileLoader):
    def __init__(self, name: str, path: str, every: dict[str, str]) -> None:
        super().__init__(name, path)
        self._every = every

    def get_code(self, fullname: str) -> CodeType:
        """The module's code with its findings wrapped; none is read from a cache, or kept in one."""
        return wrapped(Path(self.get_filename(fullname)), self._every)


class _Finder(MetaPathFinder):
    def __init__(self, every: dict[str, str]) -> None:
        self._every = every

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        """That of a module of verification, to be loaded with its findings wrapped."""
        spec = PathFinder.find_spec(fullname, path, target) if fullname.startswith(PACKAGE) else None
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(fullname, spec.origin, self._every)
        return spec


class Rerun:
    """Runs a test again without each finding that it saw fail."""

    def __init__(self, findings: Findings) -> None:
        self._findings, self._failed = findings, False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, Any, Any]:
        """The test as it is; then without findings, each of which it should miss."""
        found, self._failed = self._findings, False
        found.tripped.clear()
        done = yield
        if self._failed:
            return done
        found.ever |= dict.fromkeys(found.tripped, item.nodeid)
        for place in [each for each in found.tripped if each not in found.held]:
            found.out = place
            getattr(item, "_initrequest")()  # noqa: B009 (as those do that run flaky tests again)
            if any(report.failed for report in runtestprotocol(item, log=False, nextitem=nextitem)):
                found.held[place] = item.nodeid
            found.out = ""
        return done

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test that fails with every finding in place tells nothing."""
        self._failed = self._failed or report.failed


def taken_out(tests: Sequence[str] = TESTS) -> Findings:
    """Runs the tests; what is known of the findings then.

    Raises:
        ValueError: verification is loaded already, or a test fails with every finding in place.
    """
    if PACKAGE in sys.modules:
        raise ValueError("verification is loaded already: its findings are not wrapped")
    findings = Findings()
    setattr(builtins, HOOK, findings.holds)
    sys.meta_path.insert(0, _Finder(findings.every))
    arguments = ["-q", "-p", "no:cacheprovider", "--rootdir", str(ROOT), *(str(ROOT / each) for each in tests)]
    if pytest.main(arguments, plugins=[Rerun(findings)]) != pytest.ExitCode.OK:
        raise ValueError("a test fails with every finding in place: nothing can be told")
    return findings


def main() -> None:
    findings = taken_out()
    for place, said in findings.every.items():
        if place not in findings.held:
            tripped = f"tripped by {findings.ever[place]}" if place in findings.ever else "tripped by no test"
            print(f"{place}: no test fails without {said}, {tripped}")
    print(f"{len(findings.every)} findings taken out in turn, {len(findings.held)} held in place by a test")
    sys.exit(len(findings.held) < len(findings.every))


if __name__ == "__main__":
    main()
