"""The words of docs/accuracy.md that no computation gives."""

INTRODUCTION = (
    "Predictions held against {rows:,} published measurements of {models} models on {gpus} GPUs from {sources} "
    "sources; what may not be compared is left out by the data's own rules. Nothing on this page is judged on rows "
    "that it was fitted to, unless it says so: a part of the data is left out, the constants become those that the "
    "rest asks for, and the part is predicted. A *group* is one source, model, GPU, layout and precision; "
    "groups count alike, however many rows they have.\n\n`python benchmarks/accuracy.py` makes all of this anew "
    "(minutes), `optimizer validate MEASUREMENTS.csv` the same tables on measurements of your own. These "
    "figures were made beside the calibration whose SHA-256 starts with `{calibration}`: `sha256sum "
    "catalogs/calibration.csv` tells whether that is the one you have."
)

SCHEME_WORDS = {
    "sources": "somebody else's benchmark",
    "architectures, engines and kinds": "an architecture with an engine and kind of model nobody measured",
    "configurations": "a configuration nobody measured",
    "models": "a model nobody measured",
    "GPUs": "a GPU nobody measured",
    "generations and vendors": "a generation or vendor nobody measured",
    "nothing left out": "fitted to (not a test)",
}
"""Every scheme in the words of a user, the unseen author first."""

ABLATION_WORDS = (
    "Each mechanism is held at a value without effect and everything else refitted on one half of the "
    "configurations to predict the other. Median (90th percentile) error in percent. Fits to half of the data are "
    "worse than the table above; compare within this one. It rests on one split: small differences mean nothing. A "
    "removal that comes out better than none says that half of the data does not pin the mechanism's constants "
    "down, and that it does not pay here; others may take over its work and still fail on hardware that nobody "
    "measured."
)
OPEN_LOOP_WORDS = (
    "Rows at a request rate below 95 % of the predicted capacity that say the percentiles of TTFT: median error (bias) "
    "in percent, of the formulas that plans are made with and of the simulated replica that they answer to, neither "
    "with a margin. Means and medians of some are among the rows of the fit, no tail is. Of some 6,300 published rows "
    "these are all (`python benchmarks/open_loop.py FILE …`). What a server of MLPerf does at the limits of its rules, "
    "and RTX 4090s over PCIe that let prompts wait for seconds at one request a second, is known to neither."
)
NOISE_WORDS = (
    "Two measurements of one point (model, GPU, layout, precision, lengths, load) differ by this much, in percent. "
    "Identical figures are one measurement published twice and left out. The tails are real: the same point comes "
    "with other flags, drivers and clients, and sources do not always say which."
)
DECISION_WORDS = (
    "*Procedure.* A case is one model with one pair of lengths, measured in closed loop on at least three "
    "configurations; an option is one configuration at one number of requests in flight. A question sets a largest "
    "TPOT (10 to 100 ms), a largest TTFT (200 to 5,000 ms) or both, and some option must keep it. The pick is the "
    "option with the least predicted cost per output token among those whose predictions, worsened by the margin, "
    "keep the targets; that of a confidence is a plan's, exp(planning share · half-width), with the half-width of the "
    "option's own load. Prices: the cheapest on-demand price per GPU-hour of contract clouds. *kept*: the pick's "
    "measurements keep the targets. *cost*: its measured cost per output token against the cheapest option that "
    "keeps them, mean. A pick that breaks its target may cost less than 1×. *At quantiles* asks for measured values "
    "themselves: such a target lies on an option, any margin rejects that very option, and the next one often has "
    "half the requests in flight."
)

EXPLANATIONS = {
    "gpustack_perflab|Qwen/Qwen3-8B|h100": (
        "the median of 100 requests at 4 in flight is 33 to 44 ms; SGLang's scheduler is predicted to hold requests "
        "back as it does in other sources' runs, where the same engine takes a tenth of a second."
    ),
    "gpustack_perflab|zai-org/GLM-4.6|h100": (
        "1,000 requests at once, of some 200 tokens each: a mean TTFT of 18 to 27 s says that most of them waited "
        "in line although the memory would hold them all. Three runs on two engines agree; which limit held them "
        "back is not known."
    ),
    "gpustack_perflab|zai-org/GLM-4.6|a100-80": (
        "bursts as on H100, 1,000 requests of some 200 tokens each: a mean TTFT of 50 s says that most of them waited "
        "in line. Five runs of one engine agree to 4 %; FP8 is unpacked to 16 bits on this GPU, and nobody else "
        "measured experts so there."
    ),
    "gpustack_perflab|zai-org/GLM-5.2|h200": (
        "flags decide: the same engine, model and GPUs give 653 tokens/s with attention data-parallel, 1,173 with "
        "`--mem-fraction-static=0.8` added and 1,527 with 0.85. The engine's own choice of cache size is not in the "
        "data."
    ),
    "gpustack_perflab|deepseek-ai/DeepSeek-V3.2|h200": (
        "days after the model's release: kernels of its sparse attention were new, engines differ by a factor of "
        "three at the same point (823 to 2,702 tokens/s)."
    ),
    "dstack_benchmarks|meta-llama/Llama-3.1-405B-Instruct|mi300x": (
        "offered more requests than it can serve, prefill not chunked, 15 scheduler steps at a time: TPOT is the "
        "queue of prefills, 1,351 ms on one replica and 217 ms on two of them at the same rate."
    ),
    "cloudrift|": (
        "load balancers with several replicas behind them: requests are not spread evenly, and TTFT is the wait at "
        "the fullest replica."
    ),
    "aiconfigurator_silicon|meta-llama/Llama-3.1-8B-Instruct|h200-sxm": (
        "two engines share the group: at about one hundred requests in flight and the same prompt SGLang 0.5.6 "
        "takes 0.8 s to the first token and vLLM 0.12 takes 0.12 s. How an engine orders prefills is one constant "
        "per era here."
    ),
    "trtllm_perf_overview|meta-llama/Llama-4-Maverick": (
        "whether experts and attention were spread is not stated, and the cache left beside 400 GB of weights on "
        "640 GB decides how many requests run."
    ),
    "nebius_soperator_h200|openai/gpt-oss-120b": (
        "eight GPUs for five billion active parameters: a step is nearly all launches and exchanges. No other source "
        "measured this model on so many GPUs; which of the two is slower than predicted is not known."
    ),
    "aiconfigurator_silicon|moonshotai/Kimi-K2.5|h200-sxm": (
        "most rows of mixtures with four-bit integer weights on Hopper are these, and with them in the fit the median "
        "error is 10 %; without them what such prompts cost there is taken from other precisions."
    ),
    "web_tables|mistralai/Mistral-7B-v0.1|rtx4090": ("five rows of a page that does not say how requests were sent."),
}
"""Part of a group's name, and why its error is large."""

UNEXPLAINED = "not understood."

WANTED = (
    "Engine settings beside every measurement: share of memory for the cache, largest batch, chunk size of "
    "prefills, how prefills are ordered. They explain most of the worst groups, and TTFT under load.",
    "TTFT with its percentiles in open loop at several rates below capacity, for TensorRT-LLM and SGLang: two dozen "
    "rows of TTFT at a request rate are all there is, all of vLLM.",
    "A third generation of AMD GPUs, any run of a TPU, Gaudi or Trainium, and L4, L40S and RTX cards with a modern "
    "engine at more than one request: a left-out vendor is where errors are largest.",
    "All-reduce and TPOT of the same machine for tensor parallelism over PCIe: boards differ by a factor of ten.",
    "Attention data-parallel and expert-parallel runs that state both degrees.",
    "The same point on the same machine a month later, by someone else: nothing else tells error from noise.",
)

CAVEATS = (
    "What an error of step times does to a plan's promises is another question than how large it is: "
    "`python benchmarks/replays.py` plans 64 combinations of model, GPU, lengths and bursts and replays each 20 times "
    "with step times from these intervals (10 CPU minutes with recorded hours); what became of it stands in "
    "[decision 0088](decisions/0088-losses-as-long-as-they-last.md).",
    "TTFT in *somebody else's benchmark* is the weakest figure here: what a request costs before its prefill depends "
    "on clients, flags and schedulers that sources do not state, and the fit takes them for the engine's own. Measure "
    "TTFT yourself before you promise it.",
    "The constants without a part solve the fit to the rest, with residuals as linear as they are at the shipped ones: "
    "before [decision 0090](decisions/0090-experts-by-format.md) fits made anew without each source erred by 10.3, "
    "26.9 and 11.3 % in TPOT, TTFT and tokens/s, where this gave 11.4, 29.9 and 11.4. The table of mechanisms is of "
    "that time, too.",
    "Two widths: *somebody else's benchmark* and unmeasured architectures are judged by the interval of a deployment "
    "whose settings nobody here knows, the others by that of one that runs as exported.",
    "Servers that were told to take prompts in at intervals (InferenceMAX: SGLang with DeepSeek-R1 every 10 or 30 "
    "steps, TensorRT-LLM with Llama-3.3-70B for 20, with DeepSeek-R1 and attention data parallelism when each rank has "
    "one, after 60 at most) are predicted knowing that flag, as their scripts state it, except "
    "where a source or an architecture with an engine is left out: there nothing is known of flags.",
    "The priors that every fit is drawn to were informed by a first study of a part of these measurements, and the "
    "mechanisms and the settings of the fit were chosen by looking at all of them, at left-out errors, too. These are "
    "therefore somewhat kinder than errors on data that did not exist yet.",
    "The widths of the intervals come from left-out errors of all of this data, so that coverage here is not "
    "independent of them. Each fit knows only what it was given: a left-out model, GPU or pair counts as not "
    "measured.",
    "More than half of one source (aiconfigurator) republishes rows of another (InferenceMAX). Configurations are "
    "left out from all sources at once; *somebody else's benchmark* may still have its twin among the rows kept.",
    "In closed loop throughput follows from the two latencies, and in open loop below capacity it is the rate that "
    "was asked for: its error is an error of its own only for static batches and at full load.",
    "TTFT is compared by the median where it was published, else by the mean; both are predicted.",
)
