"""Headings of the catalogs' files that tests write rows of their own under."""

OFFERS = (
    "provider,provider_kind,region,instance_type,gpu,gpu_count,link,price_usd_per_hour,pricing_term,as_of,source,"
    "confidence\n"
)
OWNED = (
    "id,site,gpu,gpu_count,link,instances,purchase_usd,amortisation_months,resale_share,power_kw,pue,usd_per_kwh,"
    "cooling_usd_per_month,staff_usd_per_month,space_usd_per_month,source,as_of\n"
)
SELLERS = "provider,kind,whole_gpu,serves_others,source,as_of\n"
SOURCES = "id,title,licence,as_of\n"
