"""The closed lists of names that catalogs and scenarios choose from."""

from typing import Final, Literal

PricingTerm = Literal["on_demand", "spot", "reserved_1y", "reserved_3y", "committed"]
"""Terms on which instances are rented."""
SPOT: Final = "spot"
"""The term on which a provider may take an instance back."""
OWNED: Final = "owned"
"""Provider, kind and term of hardware of one's own, which is not rented on any."""
OfferTerm = Literal[PricingTerm, "owned"]
UNCOMMITTED: Final[frozenset[OfferTerm]] = frozenset({"on_demand", SPOT})
"""Ended at any hour, so that no month is promised."""
ALWAYS_PAID: Final[frozenset[OfferTerm]] = frozenset({"reserved_1y", "reserved_3y", "committed", "owned"})
"""Billed all month whether used or not; the others are paid by the hour."""

ProviderKind = Literal["hyperscaler", "neocloud", "marketplace", "platform"]
"""A platform runs containers by the second and rents no machine; a marketplace lists other people's hosts."""
OfferKind = Literal[ProviderKind, "owned"]

SellerKind = Literal["hyperscaler", "established", "reseller", "decentralized", "shared", "unknown"]
"""Whom a contract is with: one of the few largest clouds; a provider that runs its own machines and whose terms or
profile were read; one that passes on other firms' machines; other people's hosts; one that puts several customers on
one GPU; or nobody read which."""
Told = Literal["yes", "no", "unknown"]
"""What a seller says of itself; unknown where nobody read it."""
PriceOf = Literal["instance", "gpu"]
"""What a price buys: a whole instance, or its GPUs alone with processors and memory billed apart."""

Confidence = Literal["listed", "derived", "seed"]
FigureStatus = Literal["read", "derived", "recalled"]
KernelSupportLevel = Literal["native", "weight_only", "none"]
QuantizedPart = Literal["all_linear", "routed_experts"]
BenchmarkKind = Literal["suite", "single", "judge", "headline"]
Link = Literal["none", "pcie", "nvlink", "xgmi", "ici", "neuronlink", "ethernet"]
