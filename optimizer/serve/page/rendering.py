"""Templates filled with words that are always escaped, and answered as HTML."""

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse

FOLDER: Final = Path(__file__).parent


class Pages:
    """The templates of the page, with what stands on all of them."""

    def __init__(self, catalog_as_of: date) -> None:
        self._templates = Environment(
            loader=FileSystemLoader(FOLDER / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.globals["catalog_as_of"] = catalog_as_of.isoformat()

    def html(
        self, name: str, shown: Mapping[str, Any], *, status_code: int = 200, headers: Mapping[str, str] | None = None
    ) -> HTMLResponse:
        """A template as an answer.

        Args:
            name: Of the template.
            shown: What it names.
            status_code: Of the answer.
            headers: Beside those that every answer has.
        """
        return HTMLResponse(self._templates.get_template(name).render(shown), status_code, headers)
