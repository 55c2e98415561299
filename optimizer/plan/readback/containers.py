"""What is paid by the second in a solution, hour by hour of the week."""

from collections.abc import Iterator

import numpy as np

from optimizer.performance.per_second.containers import ServedBySecond
from optimizer.plan.question.inquiry import Answer
from optimizer.plan.readback.hours import ranges
from optimizer.plan.record.containers import ContainerHours, Containers


def containers(answer: Answer) -> tuple[Containers, ...]:
    """Those of every workload that they serve."""
    return tuple(_containers(answer, served) for served in answer.inquiry.by_second)


def _containers(answer: Answer, served: ServedBySecond) -> Containers:
    configuration, price = served.choice.configurations[served.configuration], served.price
    return Containers(
        workload=served.choice.workload.name,
        model=served.choice.workload.model,
        engine=configuration.engine,
        provider=price.provider,
        name=price.name,
        gpu=price.gpu,
        gpus_per_replica=price.gpu_count,
        tensor_parallel=configuration.tensor_parallel,
        pipeline_parallel=configuration.pipeline_parallel,
        precision=configuration.precision,
        kv_precision=configuration.kv_precision,
        speculation=configuration.speculation,
        accepted_tokens=configuration.accepted_tokens if configuration.speculation else None,
        idle_timeout_s=served.idle_timeout_s,
        start_up_s=served.start_s,
        usd_per_second=served.usd_per_second,
        seconds_per_month=served.seconds_per_month,
        monthly_cost_usd=served.usd_per_month,
        schedule=list(_schedule(served)),
        price_as_of=price.as_of,
        price_source=answer.inquiry.catalogs.sources[price.source].cited,
    )


def _schedule(served: ServedBySecond) -> Iterator[ContainerHours]:
    for level, asked in enumerate(served.requests_per_s.tolist()):
        yield ContainerHours(
            hours_of_week=ranges(np.flatnonzero(served.level_of_hour == level).tolist()),
            requests_per_second=asked,
            containers=int(served.containers[level]),
            kept_up=bool(served.kept_up[level]),
            share_up=float(1 - served.down[level]),
            waiting_share=float(served.waiting[level]),
        )
