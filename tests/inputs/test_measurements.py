"""What the shipped measurements may hold: no figure of a replica that falls behind, none whose runs are mixed."""

import numpy as np
import pandas as pd

from optimizer.inputs.measurements import observed, shipped_measurements

SERIES = [
    *("source", "engine", "model", "gpu", "num_gpus", "tp", "pp", "ep", "dp", "attention_dp"),
    *("weight_precision", "kv_precision", "input_tokens", "output_tokens"),
]
"""What runs have in common that differ by their clients alone, whichever release they name."""
LEAST_FALL = 0.75
"""Of the time of a token with half as many clients or fewer: below it two runs are no series of one."""


def _numbers(name: str) -> np.ndarray:
    return pd.to_numeric(shipped_measurements()[name], errors="coerce").to_numpy(dtype=np.float64)


def test_no_token_is_timed_where_first_tokens_wait_longer_than_answers_take() -> None:
    """Where nobody says how much was delivered: a line that grows for a whole run is one above the capacity."""
    frame = shipped_measurements()
    answer = _numbers("tpot_ms_mean") * _numbers("output_tokens")
    behind = (frame["load_type"] == "request_rate") & (_numbers("ttft_ms_mean") > answer)
    untold = behind.to_numpy() & np.isnan(_numbers("output_tok_s"))
    assert untold.sum() == 12
    assert np.isnan(observed(frame)["tpot"][untold]).all()


def test_no_token_is_a_quarter_faster_with_twice_the_clients() -> None:
    frame = shipped_measurements()
    runs = frame[SERIES].assign(tpot=observed(frame)["tpot"], clients=_numbers("load_value"))
    runs = runs[(frame["load_type"] == "concurrency") & runs["tpot"].notna()]
    falling = [
        (row.source, row.model, row.clients)
        for _, series in runs.groupby(SERIES)
        for row in series.itertuples()
        if (row.tpot < LEAST_FALL * series["tpot"][series["clients"] <= row.clients / 2]).any()
    ]
    assert not falling
