"""The words that tell a release of an engine what the plan assumes of it."""

import json
from collections.abc import Mapping
from string import Template
from typing import Any, Final

from optimizer.answers.running.export.record import CannotCarry, Checkpoint
from optimizer.base.figures import exactly
from optimizer.inputs.catalog.entries.deploying import DeployFacts, EngineFlag, Setting
from optimizer.plan.record.fleet import Deployment

PORT: Final = 8000
ALL_ADDRESSES: Final = "0.0.0.0"
YES: Final = "yes"

OPTIONAL: Final[frozenset[Setting]] = frozenset({"served_name", "backend", "chunked_prefill", "metrics", "config_file"})
"""Settings that not every engine has, or need be told of; no plan is another plan without them."""


class Release:
    """A release of an engine, whose flags are known."""

    def __init__(self, facts: DeployFacts, engine: str, version: str) -> None:
        """Looks nothing up yet.

        Raises:
            CannotCarry: nobody recorded the flags of this release.
        """
        if version not in facts.versions(engine):
            known = ", ".join(facts.versions(engine)) or "none"
            raise CannotCarry(f"the flags of {engine} {version} are not known; known releases of it: {known}")
        self._facts, self.engine, self.version = facts, engine, version

    def row(self, setting: Setting, planned: str = "") -> EngineFlag | None:
        """How it is told a setting; None where nobody recorded it."""
        return self._facts.flag(self.engine, self.version, setting, planned)

    def value(self, setting: Setting, planned: str = "") -> str | None:
        """What the row of a setting says, or None."""
        row = self.row(setting, planned)
        return row.value if row else None

    def words(self, setting: Setting, planned: str) -> tuple[str, ...]:
        """The flag with its value; nothing where the engine need not be told.

        Raises:
            CannotCarry: the plan assumes a setting that nobody knows how to make.
        """
        row = self.row(setting, planned)
        if row is None:
            if setting in OPTIONAL:
                return ()
            said = setting.replace("_", " ")
            raise CannotCarry(f"no flag of {self.engine} {self.version} is known for {said} {planned}")
        value = row.value if row.planned else row.value or planned
        return tuple(word for word in (row.flag, value) if word) if row.flag else ()

    def drafting(self, d: Deployment, draft: str) -> tuple[str, str]:
        """The flag for a draft as a plan names it, empty where it is told in a file, and what stands behind it.

        Args:
            d: The deployment as planned.
            draft: Its checkpoint; empty where nobody named one.

        Raises:
            CannotCarry: nobody recorded how it is told, or its draft has a checkpoint of its own that nobody named.
        """
        method, _, tokens = d.speculation.partition(":")
        row = self.row("speculation", method)
        if row is None or row.planned != method:
            raise CannotCarry(f"no flag of {self.engine} {self.version} is known for speculation {method}")
        if "$draft" in row.value and not draft:
            problem = f"the draft of {d.speculation} is a checkpoint of its own that the catalogs do not know"
            raise CannotCarry(f"{problem}; name one with --weights {d.model}:{method}=PUBLISHER/NAME")
        told = {"draft": draft, "tokens": tokens, "verified": str(int(tokens) + 1)}
        return row.flag, Template(row.value).substitute(told)

    def remarks(self, used: Mapping[Setting, str]) -> tuple[str, ...]:
        """What the rows of settings, planned as given, have to tell whoever deploys."""
        rows = (self.row(setting, planned) for setting, planned in used.items())
        told = (f"{row.flag or row.value} {row.note}" for row in rows if row is not None and row.note)
        return tuple(dict.fromkeys(told))


def memory_share(d: Deployment) -> str:
    """Of the device memory, or of what is left free of it, that the engine takes."""
    return exactly(d.engine_starts_with.memory_utilization)


def flags_of(release: Release, d: Deployment, checkpoint: Checkpoint, **told: str) -> dict[Setting, tuple[str, ...]]:
    """Setting → words, in the order of a command line.

    Args:
        release: What is told.
        d: The deployment as planned.
        checkpoint: What it loads.
        told: `served_name`, `context_tokens`; `prefix_caching` where the plan counts on it, and `draft`, the checkpoint
            of what drafts for it, where somebody named one.

    Raises:
        CannotCarry: the plan assumes a setting that nobody knows how to make.
    """
    starts = d.engine_starts_with
    planned: dict[Setting, str] = {
        "backend": YES,
        "served_name": told["served_name"],
        "tensor_parallel": str(d.tensor_parallel),
        "pipeline_parallel": str(d.pipeline_parallel),
        **({"quantize_on_load": d.precision} if checkpoint.quantized_on_load else {}),
        "kv_precision": d.kv_precision,
        "context_tokens": told["context_tokens"],
        "max_num_seqs": str(starts.max_num_seqs),
        "max_num_batched_tokens": str(starts.max_num_batched_tokens),
        "memory_utilization": memory_share(d),
        "chunked_prefill": YES,
        **({"prefix_caching": YES} if "prefix_caching" in told else {}),
        "metrics": YES,
        "config_file": "",
        "host": ALL_ADDRESSES,
        "port": str(PORT),
    }
    words = {setting: release.words(setting, value) for setting, value in planned.items()}
    if d.speculation:
        flag, behind = release.drafting(d, told.get("draft", ""))
        words["speculation"] = (flag, *behind.split()) if flag else ()
    return {setting: each for setting, each in words.items() if each}


def config_of(release: Release, d: Deployment, draft: str) -> Mapping[str, Any]:
    """What an engine is told in a file where flags don't say it; empty where it takes none."""
    if release.row("config_file") is None:
        return {}
    share = release.words("memory_utilization", memory_share(d))[-1]
    cache = {
        "dtype": release.value("kv_precision", d.kv_precision),
        "enable_block_reuse": True,
        "free_gpu_memory_fraction": float(share),
    }
    if not d.speculation:
        return {"kv_cache_config": cache}
    _, drafts = release.drafting(d, draft)
    return {"kv_cache_config": cache, "speculative_config": json.loads(drafts)}
