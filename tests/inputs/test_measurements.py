"""What the shipped measurements may hold: no time of a replica that falls behind."""

import numpy as np
import pandas as pd

from optimizer.inputs.measurements import observed, shipped_measurements


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
