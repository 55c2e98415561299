"""What a policy may admit to a plan: lists of names, and whole kinds of offers that are left out by default."""

from typing import Final, get_args

from optimizer.inputs.catalog.kinds import Confidence, PricingTerm, ProviderKind, SellerKind
from optimizer.inputs.requirements.declaration import Requirement, Step

LISTS: Final = (
    Requirement(
        name="providers",
        field="policy.providers",
        sense="admits",
        sentence="Only providers that are allowed sell to the plan.",
        decides="offers",
    ),
    Requirement(
        name="regions",
        field="policy.regions",
        sense="admits",
        sentence="Only regions that are allowed are used.",
        decides="offers",
    ),
    Requirement(
        name="countries",
        field="policy.countries",
        sense="admits",
        sentence="Only countries that are allowed are used.",
        decides="offers",
        promise="any country",
    ),
    Requirement(
        name="hosting",
        field="policy.hosting",
        sense="admits",
        sentence="Only hardware and APIs of the ownership asked for are used.",
        decides="offers",
        opens=True,
    ),
    Requirement(
        name="gpus",
        field="policy.gpus",
        sense="admits",
        sentence="Only GPUs that are allowed are used.",
        decides="candidates",
    ),
    Requirement(
        name="engines",
        field="policy.engines",
        sense="admits",
        sentence="Only the engines named serve.",
        decides="candidates",
    ),
    Requirement(
        name="precisions",
        field="policy.precisions",
        sense="admits",
        sentence="Only the precisions named are served.",
        decides="candidates",
    ),
    Requirement(
        name="kv_precisions",
        field="policy.kv_precisions",
        sense="admits",
        sentence="Only the KV-cache precisions named are used.",
        decides="candidates",
    ),
    Requirement(
        name="unmeasured_performance",
        field="policy.unmeasured_performance",
        sense="admits",
        sentence="Nothing serves that nobody measured the like of.",
        without="accept",
        decides="candidates",
        opens=True,
        prefers=("avoid",),
    ),
)
"""Lists of names, and what is known of their speed, which can only be dropped."""

WIDEST: Final = 16
"""The most GPUs of a replica that plans consider, in either direction."""

LAYOUTS: Final = (
    Requirement(
        name="max_tensor_parallel",
        field="policy.max_tensor_parallel",
        sense="at_most",
        sentence="Each layer is split over no more GPUs than allowed.",
        label="tensor parallel",
        unit="GPUs",
        step=Step("whole", strictest=1, loosest=WIDEST),
        decides="candidates",
    ),
    Requirement(
        name="max_pipeline_parallel",
        field="policy.max_pipeline_parallel",
        sense="at_most",
        sentence="The layers are split into no more pipeline stages than allowed.",
        label="pipeline parallel",
        unit="stages",
        step=Step("whole", strictest=1, loosest=WIDEST),
        decides="candidates",
    ),
)
"""How far a replica may be spread over GPUs."""

KINDS_OF_OFFERS: Final = (
    Requirement(
        name="sellers",
        field="policy.sellers",
        sense="admits",
        sentence="One can sign with whoever sells to the plan.",
        without=get_args(SellerKind),
        decides="offers",
        opens=True,
    ),
    Requirement(
        name="consumer_gpus",
        field="policy.consumer_gpus",
        sense="admits",
        sentence="No gaming cards are rented.",
        without=True,
        decides="offers",
        opens=True,
    ),
    Requirement(
        name="provider_kinds",
        field="policy.provider_kinds",
        sense="admits",
        sentence="Machines or containers are rented, as asked for.",
        without=get_args(ProviderKind),
        decides="offers",
        opens=True,
    ),
    Requirement(
        name="pricing_terms",
        field="policy.pricing_terms",
        sense="admits",
        sentence="Instances are rented on the terms asked for.",
        without=get_args(PricingTerm),
        decides="offers",
        opens=True,
    ),
    Requirement(
        name="price_confidence",
        field="policy.price_confidence",
        sense="admits",
        sentence="Prices come from a price list.",
        without=get_args(Confidence),
        decides="offers",
        opens=True,
    ),
    Requirement(
        name="max_price_age_days",
        field="policy.max_price_age_days",
        sense="at_most",
        sentence="Prices are recent enough.",
        label="age of prices",
        unit="days",
        step=Step("fixed", size=30, strictest=1, loosest=3650),
        decides="offers",
        opens=True,
    ),
)
"""What is left out by default, with all there is where nothing is."""
