"""What is asked, with the lines that ask for it."""

from typing import TYPE_CHECKING

from optimizer.base.lazy import on_first_use

if TYPE_CHECKING:
    from optimizer.inputs.scenario.attachments import with_files as with_files
else:
    __getattr__ = on_first_use(__name__)
