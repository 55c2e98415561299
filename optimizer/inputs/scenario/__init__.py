"""What is asked, with the lines that ask for it."""

from typing import TYPE_CHECKING

from optimizer.base.lazy import on_first_use

if TYPE_CHECKING:
    from optimizer.inputs.scenario.attachments import with_files as with_files
    from optimizer.inputs.scenario.not_planned import why_not_planned as why_not_planned
    from optimizer.inputs.scenario.profile_lengths import with_lengths as with_lengths
    from optimizer.inputs.scenario.tables import TraceDemand as TraceDemand
    from optimizer.inputs.scenario.tables import demand_of_trace as demand_of_trace
    from optimizer.inputs.scenario.tables import weekly_profile as weekly_profile
else:
    __getattr__ = on_first_use(__name__)
