"""What other price lists call a GPU or a provider, led back to the catalog's own names; never guessed."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from optimizer.inputs.catalog.kinds import Link
from optimizer.inputs.catalog.records import Catalogs, Gpu, Offer

MEMORY_TOLERANCE: Final = 0.1
"""Lists round memory or subtract what the driver keeps; two cards of one name differ by more than this."""

FORM_FACTORS: Final = ("sxm", "pcie", "nvl")
"""Words in an instance's name that tell cards of one name apart; the end of our GPU ids says the same."""

SUBJECTS: Final = ("gpu", "provider")

Known = Mapping[str, tuple[str, ...]]


@cache
def folded(name: str) -> str:
    """A name without case, blanks and signs: lists differ in nothing else most of the time."""
    return "".join(sign for sign in name.casefold() if sign.isalnum())


@dataclass(frozen=True)
class Names:
    """The names of one set of catalogs, ready to look up.

    Attributes:
        gpus: The catalog's GPUs.
        gpu_ids: Ids that a folded name may stand for.
        provider_ids: The id that a folded provider name stands for.
        provider_kinds: Kinds of each provider's offers, sorted.
        instances: Offers by provider and instance type: what a listed instance is already known to hold.
    """

    gpus: Mapping[str, Gpu]
    gpu_ids: Known
    provider_ids: Mapping[str, str]
    provider_kinds: Known
    instances: Mapping[tuple[str, str], tuple[Offer, ...]] = field(repr=False)

    def provider(self, name: str) -> str:
        """The catalog's name of a provider; a new provider keeps its own, in lower case."""
        return self.provider_ids.get(folded(name), name.casefold())

    def gpu(
        self, name: str, memory_gb: float | None, *, provider: str, instance_type: str, described: str = ""
    ) -> str | tuple[str, ...]:
        """The id of the one GPU that this can be, or all that it might be; none when nobody recorded the name.

        A name that several cards share is decided by the memory of one GPU, then by what the same instance of the
        same provider holds in the catalog, then by the form factor in the instance's name or in the description.
        """
        possible = self.gpu_ids.get(folded(name), ())
        if memory_gb is not None:
            possible = tuple(gpu for gpu in possible if self._has_memory(gpu, memory_gb))
        for keep in (
            self._held_by(provider, instance_type),
            _of_form(possible, instance_type),
            _of_form(possible, described),
        ):
            narrowed = tuple(gpu for gpu in possible if gpu in keep)
            possible = narrowed or possible
        return possible[0] if len(possible) == 1 else possible

    def link(self, gpu: str, gpu_count: int, provider: str, instance_type: str) -> Link | None:
        """How an instance's GPUs are joined as the catalog knows it; None when nobody says."""
        if gpu_count == 1:
            return "none"
        known = {offer.link for offer in self.instances.get((provider, instance_type), ()) if offer.gpu == gpu}
        return known.pop() if len(known) == 1 else None

    def _has_memory(self, gpu: str, memory_gb: float) -> bool:
        nominal_gb = self.gpus[gpu].memory_gb
        return abs(memory_gb - nominal_gb) <= MEMORY_TOLERANCE * nominal_gb

    def _held_by(self, provider: str, instance_type: str) -> set[str]:
        return {offer.gpu for offer in self.instances.get((provider, instance_type), ())}


def names_of(catalogs: Catalogs) -> Names:
    """Every name under which the catalogs know a GPU or a provider: ids, full names, recorded aliases."""
    aliases = {subject: [row for row in catalogs.offer_aliases if row.subject == subject] for subject in SUBJECTS}
    ids = [(name, gpu.id) for gpu in catalogs.gpus.values() for name in (gpu.id, gpu.name)]
    ids += [(alias.name, alias.id) for alias in aliases["gpu"]]
    kinds = _grouped((offer.provider, offer.provider_kind) for offer in catalogs.offers)
    providers = [*((name, name) for name in sorted(kinds)), *((alias.name, alias.id) for alias in aliases["provider"])]
    instances: defaultdict[tuple[str, str], list[Offer]] = defaultdict(list)
    for offer in catalogs.offers:
        instances[offer.provider, offer.instance_type].append(offer)
    return Names(
        gpus=catalogs.gpus,
        gpu_ids=_grouped((folded(name), identity) for name, identity in ids),
        provider_ids={folded(name): identity for name, identity in providers},
        provider_kinds=kinds,
        instances={key: tuple(offers) for key, offers in instances.items()},
    )


def _grouped(pairs: Iterable[tuple[str, str]]) -> Known:
    """The distinct values of each name, both sorted."""
    values: defaultdict[str, set[str]] = defaultdict(set)
    for name, value in pairs:
        values[name].add(value)
    return {name: tuple(sorted(several)) for name, several in sorted(values.items())}


def _of_form(gpus: tuple[str, ...], name: str) -> set[str]:
    """Those GPUs whose form factor a name states."""
    stated = [form for form in FORM_FACTORS if form in folded(name)]
    return {gpu for gpu in gpus for form in stated if gpu.endswith(f"-{form}")}
