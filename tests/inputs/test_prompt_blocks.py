"""Blocks of prompts are read from traces as Mooncake writes them; what is none is refused where it stands."""

import json
from pathlib import Path

import numpy as np
import pytest

from optimizer.base.errors import InputError
from optimizer.inputs.scenario.tables import demand_of_trace, requests_of_trace
from optimizer.inputs.scenario.traces.blocks import prompt_blocks, tokens_of_block

LINE = {"timestamp": 27_000, "input_length": 1200, "output_length": 52, "hash_ids": [46, 47, 48]}


def written(folder: Path, *lines: object) -> Path:
    path = folder / "t.jsonl"
    path.write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in lines) + "\n")
    return path


def test_a_trace_of_lines_is_one_of_rows_with_blocks(tmp_path: Path) -> None:
    later = LINE | {"timestamp": 30_500, "input_length": 1600, "hash_ids": [46, 47, 49, 50]}
    requests = requests_of_trace(written(tmp_path, later, LINE))
    assert requests.arrived_s.tolist() == [0.0, 3.5]
    assert requests.input_tokens.tolist() == [1200, 1600]
    assert requests.blocks is not None
    assert requests.blocks.block_tokens == 512
    assert requests.blocks.repeated.tolist() == [0, 2]
    assert requests.blocks.repeated_tokens(requests.input_tokens).tolist() == [0, 1024]
    assert demand_of_trace(tmp_path / "t.jsonl").requests.input_tokens == 1400
    bare = [{name: value for name, value in each.items() if name != "hash_ids"} for each in (LINE, later)]
    assert requests_of_trace(written(tmp_path, LINE, bare[1])).blocks is None
    assert requests_of_trace(written(tmp_path, *bare)).blocks is None


@pytest.mark.parametrize("size", [16, 64, 100, 512])
def test_the_size_of_blocks_is_that_which_holds_all_prompts(size: int) -> None:
    tokens = np.random.default_rng(0).integers(1, 5000, 3000)
    assert tokens_of_block(-(-tokens // size), tokens) == size


def test_where_several_sizes_hold_them_it_is_the_usual_one_or_a_power_of_two() -> None:
    assert tokens_of_block(np.array([1, 1]), np.array([20, 500])) == 512
    assert tokens_of_block(np.array([1]), np.array([700])) == 1024
    assert tokens_of_block(np.array([10]), np.array([150])) == 16


def test_some_prompts_keep_their_blocks_and_what_they_repeat() -> None:
    blocks = prompt_blocks([["a"], ["a", "b"], ["c", "e"], ["a", "b", "d"]], np.array([10, 20, 20, 30]))
    assert blocks.repeated.tolist() == [0, 1, 0, 2]
    some = blocks.of(np.array([3, 1]))
    assert some.each() == [[0, 1, 4], [0, 1]]
    assert some.repeated.tolist() == [2, 1]
    assert blocks.of(np.array([], dtype=np.int64)).each() == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "no JSON"),
        ("", "a line without a request"),
        ("[1]", "no request"),
        (LINE | {"timestamp": "now"}, "timestamp: missing or no number"),
        (LINE | {"input_length": True}, "input_length: missing or no number"),
        ({"timestamp": 1, "input_length": 5}, "output_length: missing or no number"),
        (LINE | {"hash_ids": []}, "hash_ids: no blocks of a prompt"),
        (LINE | {"hash_ids": [0.5]}, "hash_ids: no blocks of a prompt"),
        (LINE | {"hash_ids": 7}, "hash_ids: no blocks of a prompt"),
    ],
)
def test_a_line_that_is_no_request_is_refused_where_it_stands(tmp_path: Path, line: object, said: str) -> None:
    path = written(tmp_path, LINE, line, LINE)
    with pytest.raises(InputError) as refused:
        requests_of_trace(path)
    assert said in str(refused.value)
    assert "t.jsonl:2" in str(refused.value)


def test_blocks_that_do_not_hold_their_prompts_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, LINE, LINE | {"hash_ids": list(range(9))})
    with pytest.raises(InputError, match="blocks of one size do not hold all prompts"):
        requests_of_trace(path)
    other = LINE | {"input_length": 1000, "hash_ids": [40, 47]}
    with pytest.raises(InputError, match="a block stands behind different ones"):
        requests_of_trace(written(tmp_path, LINE, other))
    with pytest.raises(InputError, match="no requests"):
        requests_of_trace(_empty(tmp_path))
    with pytest.raises(InputError, match=r"jsonl:2: .*tokens of a prompt or an answer is more"):
        requests_of_trace(written(tmp_path, LINE, LINE | {"input_length": 1e12}))
    with pytest.raises(InputError, match="token counts below 1"):
        requests_of_trace(written(tmp_path, LINE | {"output_length": 0}))


def _empty(folder: Path) -> Path:
    path = folder / "empty.jsonl"
    path.write_text("")
    return path
