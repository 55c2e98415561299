"""Users, tokens a day and batches become requests per second, thinking becomes tokens, drafts say what they yield."""

import math
from typing import Any, Final

from optimizer.base.errors import Finding, refuse
from optimizer.base.figures import exactly, figure
from optimizer.base.units import HOURS_PER_DAY, SECONDS_PER_HOUR
from optimizer.inputs.catalog.entries.engines import Draft, counted_drafts
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.demand import Demand, TokensPerDay
from optimizer.inputs.scenario.fields import MAX_RATE, MIN_RATE
from optimizer.inputs.scenario.scenario import RequestClass, Scenario, Workload
from optimizer.inputs.scenario.served_by import Drafts

IN_THE_BUSIEST_HOUR: Final = " in the busiest hour"
OF_WEEKDAYS: Final = {"every_day": "every day", "weekdays": "Monday to Friday"}


def restated(scenario: Scenario) -> Scenario:
    """The scenario with every demand as a rate; what was asked stands in each workload's `stated_as`.

    Raises:
        InputError: more requests per second than a scenario may ask for, or fewer.
    """
    workloads = tuple(_restated(workload) for workload in scenario.workloads)
    hint = f"{figure(MIN_RATE)} to {MAX_RATE:,.0f} requests/s"
    findings = [
        Finding("scenario", 0, f"workloads[{each.name}]", _asked(each), hint)
        for each in workloads
        if each.peak_is_known
        and not MIN_RATE <= each.least_requests_per_second() <= each.peak_requests_per_second() <= MAX_RATE
    ]
    refuse(findings)
    return scenario.model_copy(update={"workloads": workloads})


def _asked(workload: Workload) -> str:
    """What is out of range: too much as it was said, too little as the number that nobody writes out."""
    if workload.peak_requests_per_second() > MAX_RATE:
        return workload.stated_as[-1] if workload.stated_as else rate_in_words(workload)
    when = "" if workload.demand is None else " in its quietest hour"
    return f"asks {workload.least_requests_per_second():g} requests/s{when}"


def with_thinking(scenario: Scenario, catalogs: Catalogs) -> Scenario:
    """The scenario with answers as long as they were published to be with their thinking, where a workload says so.

    Raises:
        InputError: nobody published it of a model. One that the catalogs do not know is told when names are checked.
    """
    workloads = list(scenario.workloads)
    findings: list[Finding] = []
    for position, workload in enumerate(workloads):
        if workload.reasoning != "published" or not is_known(workload.model, catalogs):
            continue
        known = catalogs.thinking.get(catalogs.model(workload.model).id)
        if known is None:
            problem = f"nobody published how long answers of {workload.model} are with thinking and without"
            hint = f"say how many times as many tokens: reasoning: 4; published: {', '.join(catalogs.thinking)}"
            findings.append(Finding("scenario", 0, f"workloads[{workload.name}].reasoning", problem, hint))
        else:
            workloads[position] = _thinking(workload, known.factor, f"{known.prompts} prompts, {known.source}")
    refuse(findings)
    return scenario.model_copy(update={"workloads": tuple(workloads)})


def with_accepted(scenario: Scenario, catalogs: Catalogs) -> Scenario:
    """The scenario with the tokens that a step keeps of each draft, where they were counted and it does not say them.

    Raises:
        InputError: nobody counted them of a model. One that the catalogs do not know is told when names are checked.
    """
    findings: list[Finding] = []

    def settled(model: str, drafts: Drafts, path: str) -> Drafts:
        """The drafts of one model, those left as they are of which nothing is found."""
        found = [_accepted(draft, model, catalogs) if is_known(model, catalogs) else draft for draft in drafts]
        for number, draft in enumerate(found):
            if draft.accepted_tokens is None and is_known(model, catalogs):
                problem = f"nobody counted how many tokens a step of {model} keeps with {draft.name}"
                hint = f"say it: {{method: {draft.method}, draft_tokens: {draft.draft_tokens}, accepted_tokens: ...}}"
                findings.append(Finding("scenario", 0, f"{path}.speculation[{number}]", problem, hint))
        return tuple(found)

    workloads = []
    for each in scenario.workloads:
        path = f"workloads[{each.name}]"
        others = [
            item.model_copy(
                update={"speculation": settled(item.model, item.speculation, f"{path}.alternatives[{item.model}]")}
            )
            for item in each.alternatives
        ]
        own = settled(each.model, each.speculation, path)
        workloads.append(each.model_copy(update={"alternatives": tuple(others), "speculation": own}))
    refuse(findings)
    return scenario.model_copy(update={"workloads": tuple(workloads)})


def _accepted(draft: Draft, model: str, catalogs: Catalogs) -> Draft:
    """As the scenario says it, else as it was counted of the model, whatever was written."""
    if draft.accepted_tokens is not None:
        return draft
    counted = counted_drafts(catalogs.acceptance, catalogs.model(model).id, draft.draft_tokens)
    return next((each for each in counted if each.name == draft.name), draft)


def is_known(model: str, catalogs: Catalogs) -> bool:
    """Whether that is a catalog id or a published name of a model."""
    return model in catalogs.models or model.casefold() in catalogs.aliases


def _thinking(workload: Workload, factor: float, basis: str) -> Workload:
    """The workload with longer answers; its first token is then the first of the thinking."""
    words = f"answers have {figure(factor)} times their tokens with thinking ({basis}); TTFT is to its first token"
    rate = (rate_in_words(workload),) if workload.peak_is_known and not workload.stated_as else workload.stated_as
    said: dict[str, Any] = {"reasoning": None, "stated_as": (words, *rate)}
    if workload.output_tokens is not None:
        return workload.model_copy(update=said | {"output_tokens": math.ceil(workload.output_tokens * factor)})
    return workload.model_copy(
        update=said | {"request_classes": tuple(_longer(item, factor) for item in workload.classes())}
    )


def _longer(item: RequestClass, factor: float) -> RequestClass:
    """A class of requests, all of whose answers are so many times as long."""
    answer, lengths = math.ceil(item.output_tokens * factor), item.lengths
    if lengths is not None:
        lengths = tuple(
            each.model_copy(update={"output_tokens": math.ceil(each.output_tokens * factor)}) for each in lengths
        )
    return item.model_copy(update={"output_tokens": answer, "lengths": lengths})


def rate_in_words(workload: Workload) -> str:
    """The demand of a workload that is given as a rate: the number of the scenario, or the highest of its profile."""
    rate = exactly(workload.peak_requests_per_second())
    peak = f"{rate} request{'' if rate == '1' else 's'}/s"
    return peak if workload.demand is None else f"up to {peak} over the week"


def _restated(workload: Workload) -> Workload:
    """As a rate, with the lengths of answers that the scenario itself gives; as it is while the catalogs were not asked
    for its lengths."""
    if workload.lengths is not None:
        return workload
    if isinstance(workload.reasoning, float):
        return _restated(_thinking(workload, workload.reasoning, "as the scenario says"))
    if workload.users is not None and workload.requests_per_user_hour is not None:
        return _of_users(workload, workload.users, workload.requests_per_user_hour)
    if workload.tokens_per_day is not None:
        return _of_tokens(workload, workload.tokens_per_day)
    if workload.deadline is not None:
        return worked_on_in(workload, workload.deadline.window_hours)
    return workload


def _of_users(workload: Workload, users: int, requests_per_user_hour: float) -> Workload:
    """People at work at one time; with a profile those of its busiest hour, without one those of every hour."""
    peak_per_s = users * requests_per_user_hour / SECONDS_PER_HOUR
    when = " in every hour" if workload.demand is None else IN_THE_BUSIEST_HOUR
    each = "1 request" if requests_per_user_hour == 1 else f"{figure(requests_per_user_hour)} requests"
    words = f"{users:,} users at {each} an hour = {_rate(peak_per_s)}{when}"
    return _at(workload, peak_per_s, words, users=None, requests_per_user_hour=None)


def _of_tokens(workload: Workload, tokens: TokensPerDay) -> Workload:
    """Tokens of a weekday: in the hours of the profile where there is one, else the same in every hour."""
    requests, words = _requests_of(tokens, workload)
    words += f" = {figure(requests)} requests a day"
    if workload.demand is None:
        peak_per_s, how = requests / (HOURS_PER_DAY * SECONDS_PER_HOUR), ", spread evenly over the day"
    else:
        shape = workload.demand.shape()
        weekday = sum(shape[:HOURS_PER_DAY])
        peak_per_s, how = requests / weekday * max(shape) / SECONDS_PER_HOUR, IN_THE_BUSIEST_HOUR
    return _at(workload, peak_per_s, f"{words} = {_rate(peak_per_s)}{how}", tokens_per_day=None)


def _at(workload: Workload, peak_per_s: float, words: str, **without: None) -> Workload:
    """The workload at that rate: steady, or as the highest hour of its profile."""
    rate: dict[str, Any] = {"requests_per_second": peak_per_s}
    if workload.demand is not None:
        rate = {"demand": workload.demand.model_copy(update={"peak_requests_per_second": peak_per_s})}
    return workload.model_copy(update={**rate, **without, "stated_as": (*workload.stated_as, words)})


def worked_on_in(workload: Workload, hours: int) -> Workload:
    """A workload with a deadline whose batch is worked on at one rate in so many hours from when it is there.

    Raises:
        ValueError: the workload has no deadline.
    """
    deadline = workload.deadline
    if deadline is None:
        raise ValueError(f"workload {workload.name} has no deadline")
    requests, words = float(deadline.requests or 0), f"{deadline.requests or 0:,} requests"
    if deadline.tokens is not None:
        requests, words = _requests_of(deadline.tokens, workload)
        words += f" = {figure(requests)} requests"
    per_s = requests / (hours * SECONDS_PER_HOUR)
    words += f" from {deadline.start:02}:00 to {deadline.by:02}:00, {OF_WEEKDAYS[deadline.days]}"
    first = "the first" if hours == 1 else f"the first {hours}"
    of = "" if hours == deadline.window_hours else f"{first} of "
    words += f" = {_rate(per_s)} for {of}{deadline.window_hours} hours"
    is_open = deadline.is_open(hours)
    rate: dict[str, Any] = {"requests_per_second": per_s, "demand": None}
    if not all(is_open):
        week = tuple(per_s if working else 0.0 for working in is_open)
        rate = {"requests_per_second": None, "demand": Demand(weekly_requests_per_second=week)}
    known = workload.peak_is_known
    said = (*(workload.stated_as[:-1] if known else workload.stated_as), words)
    return workload.model_copy(update={**rate, "stated_as": said})


def _requests_of(tokens: TokensPerDay, workload: Workload) -> tuple[float, str]:
    """How many requests have so many tokens at the workload's mean lengths, and both in words."""
    kind, count = tokens.counted()
    classes = workload.classes()
    prompt = sum(item.share * item.input_tokens for item in classes)
    answer = sum(item.share * item.output_tokens for item in classes)
    of_each = {"input": prompt, "output": answer, "input and output": prompt + answer}[kind]
    return count / of_each, f"{figure(count)} {kind} tokens at {figure(of_each)} a request"


def _rate(per_s: float) -> str:
    rate = figure(per_s)
    return f"{rate} request{'' if rate == '1' else 's'}/s"
