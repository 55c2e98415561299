"""Speculation as rows of a table say it: how many tokens a draft proposes in a step, and how many of them are kept.

`speculation` names a method, a number of tokens, or both (`mtp`, `eagle3:3`, `2`); `draft_tokens` and
`accepted_tokens` say the same in numbers and go before.
"""

from typing import Final

import numpy as np

from optimizer.inputs.catalog.entries.engines import USUAL_DRAFT_TOKENS, WRITTEN_DRAFT, kept_tokens
from optimizer.inputs.catalog.records import Catalogs
from optimizer.performance.measured.rows import DeploymentTable, given_or, text_column
from optimizer.performance.physics.categorical import Categorical

NONE: Final = ("", "0", "false", "no", "none", "off")
METHODS: Final = {
    "mtp": "mtp",
    "eagle": "eagle3",
    "eagle3": "eagle3",
    "dspark": "dspark",
    "draft": "",
    "draft_model": "",
}
"""What methods are called, and by which of the catalog's counts each is judged; others by those of all."""

COUNTED: Final = "speculative decoding: {tokens} drafted, {accepted:g} a step kept as counted for {of}"


def read_speculation(table: DeploymentTable, catalogs: Catalogs) -> None:
    """Settle `draft_tokens` and `accepted_tokens` of every row, 0 and 1 without speculation."""
    given = Categorical[str].of(np.char.lower(text_column(table.frame, "speculation").astype(str)).astype(object))
    told = [_told(text.strip()) for text in given.categories]
    table.refuse(given.by_row([each is None for each in told], np.bool_), UNREAD)
    stated = given.by_row([0 if each is None else each[1] for each in told], np.float64)
    methods = given.by_row(["" if each is None else each[0] for each in told], object)
    drafted = np.nan_to_num(np.where(np.isnan(table.numbers["draft_tokens"]), stated, table.numbers["draft_tokens"]))
    accepted = table.numbers["accepted_tokens"]
    table.refuse(accepted > 1 + drafted, "accepted_tokens are more than a step has, its own and draft_tokens")
    asked = Categorical[tuple[str, str, float]].of(list(zip(table.names["model"], methods, drafted, strict=True)))
    found = [_accepted(catalogs, *kind) if kind[0] and kind[2] else (1.0, "") for kind in asked.categories]
    unknown = asked.by_row([each is None for each in found], np.bool_) & np.isnan(accepted)
    table.refuse(unknown, "nobody counted how many of so many draft tokens are kept: say accepted_tokens")
    kept = asked.by_row([each[0] if each else 1.0 for each in found], np.float64)
    notes = asked.by_row([each[1] if each else "" for each in found], object)
    table.remark((notes != "") & np.isnan(accepted) & ~unknown, notes)
    table.numbers["draft_tokens"] = drafted
    table.numbers["accepted_tokens"] = np.where(drafted > 0, given_or(accepted, kept), 1.0)


UNREAD: Final = "speculation is neither a method nor a number of tokens (mtp, eagle3:3, 2; blank for none)"


def _told(text: str) -> tuple[str, int] | None:
    """The catalog's name of a method and the tokens that it drafts; None where the text says neither."""
    if text in NONE:
        return "", 0
    parts = WRITTEN_DRAFT.fullmatch(text)
    method = parts and (parts["method"] or "")
    if parts is None or (method and method not in METHODS):
        return None
    return METHODS.get(method or "", ""), int(parts["tokens"] or USUAL_DRAFT_TOKENS)


def _accepted(catalogs: Catalogs, model: str, method: str, drafted: float) -> tuple[float, str] | None:
    """What a step keeps of so many tokens, and of whom it was counted; None where nobody counted.

    The median over counts of the model, else of the method, else of all.
    """
    rows = [row for row in catalogs.acceptance if row.draft_tokens == drafted]
    own = [row for row in rows if row.model == catalogs.model(model).id]
    if found := [row for row in own if row.method == method] or own:
        of = f"this model with {' and '.join(sorted({row.method for row in found}))}"
        return kept_tokens(found), COUNTED.format(tokens=int(drafted), accepted=kept_tokens(found), of=of)
    if found := [row for row in rows if row.method == method] or rows:
        return kept_tokens(found), COUNTED.format(tokens=int(drafted), accepted=kept_tokens(found), of="other models")
    return None
