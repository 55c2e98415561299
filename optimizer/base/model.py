"""The one base class of everything that is loaded or published: strict, frozen, no NaN, no unknown key."""

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    """A frozen record that refuses unknown fields, infinities and NaN.

    Its validator is built when the first one is made, since a command makes few of the kinds that are imported.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)
