#!/usr/bin/env bash
# What a pipeline does for a change: plans the scenarios of the base commit, plans those of the checkout, and compares.
# Run it in the repository's root; the base commit must be in the clone (fetch-depth: 0). Reads from the environment:
#   GATE_SCENARIOS  scenario files and folders, separated by spaces or line breaks
#   GATE_BASE       the commit to compare with; empty: nothing to compare, limits on increase are not judged
#   GATE_CATALOGS   folder of own catalog files, if any
#   GATE_OUTPUT     folder for gate.json, gate.xml, gate.sarif and comment.md (what does not fit: comment.rest.md)
#   GATE_RUN_URL    where this run can be looked at, if anywhere; the comment links it
#   GATE_HISTORY    a CSV file that the verdict is added to, if any; keep it between runs
#   GATE_NAME       goes into the comment's first line, so that several gates of one change have a comment each
# and hands its arguments to `optimizer gate`. Its exit code is that of the gate. However it ends, the outputs say so.
set -euo pipefail

scenarios=()
# over all lines: a YAML block has several
read -r -d '' -a scenarios <<<"${GATE_SCENARIOS:?scenario files or folders}" || true
catalogs="${GATE_CATALOGS:-}"
name="${GATE_NAME:-}"
if [[ ! "$name" =~ ^[A-Za-z0-9._-]*$ ]]; then
    echo "GATE_NAME '$name' has other characters than letters, digits, dots, underscores and hyphens" >&2
    exit 2
fi
mkdir -p "${GATE_OUTPUT:?folder for the results}"
output="$(cd "$GATE_OUTPUT" && pwd)"
work="$(mktemp -d)"
base="$work/base"

finish() {
    git worktree remove --force "$base" 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT

# Every scenario file of a checkout: those named, and those in the folders named.
files_in() {
    local name
    for name in "${scenarios[@]}"; do
        if [[ -d "$1/$name" ]]; then
            find "$1/$name" -maxdepth 1 -type f \( -name '*.yaml' -o -name '*.yml' -o -name '*.json' \) | sort
        elif [[ -f "$1/$name" ]]; then
            echo "$1/$name"
        fi
    done
}

plan_base() {
    local own=() file count=0 code
    [[ -n "$catalogs" && -d "$base/$catalogs" ]] && own=(--catalogs "$base/$catalogs")
    mkdir "$work/plans"
    while IFS= read -r file; do
        count=$((count + 1))
        code=0
        optimizer plan "$file" "${own[@]}" --format json --quiet --output "$work/plans/$count.json" || code=$?
        case "$code" in
            0 | 3 | 4) ;;
            2) echo "the base's ${file#"$base"/} cannot be planned; nothing to compare it with" >&2 ;;
            *)
                not_evaluated "the base's ${file#"$base"/} could not be planned (exit code $code)" "${remember[@]}"
                exit "$code"
                ;;
        esac
    done < <(files_in "$base")
}

options=(--junit "$output/gate.xml" --sarif "$output/gate.sarif" --comment "$output/comment.md")
options+=(--format json --output "$output/gate.json" --quiet)
[[ -n "${GATE_RUN_URL:-}" ]] && options+=(--run-url "$GATE_RUN_URL")
remember=()
[[ -n "${GATE_HISTORY:-}" ]] && remember=(--history "$GATE_HISTORY")

# Writes every output without a verdict, and shows the comment.
not_evaluated() {
    optimizer gate "${scenarios[@]}" "${options[@]}" "${@:2}" --not-evaluated "$1" || true
    shown
}

shown() {
    [[ -f "$output/comment.md" ]] || return 0
    if [[ -n "$name" ]]; then
        sed "1s/^<!-- optimizer-gate -->/<!-- optimizer-gate $name -->/" "$output/comment.md" >"$work/comment.md"
        cp "$work/comment.md" "$output/comment.md"
    fi
    cat "$output/comment.md"
}

# What stands where the gate is killed, or its arguments are wrong; whatever comes later writes over it.
not_evaluated "the gate did not run to its end; the log of this job says more" >/dev/null 2>&1
[[ -n "$catalogs" ]] && options+=(--catalogs "$catalogs")

if [[ -n "${GATE_BASE:-}" ]]; then
    if ! git cat-file -e "$GATE_BASE^{commit}" 2>/dev/null; then
        not_evaluated "the base commit $GATE_BASE is not in this clone; check out with its history (GitHub: fetch-depth: 0, \
GitLab: GIT_DEPTH: \"0\"); after a forced push the commit before is gone for good: name another base" "${remember[@]}"
        exit 2
    fi
    git worktree add --quiet --detach "$base" "$GATE_BASE"
    plan_base
    before=shipped
    [[ -n "$catalogs" && -d "$base/$catalogs" ]] && before="$base/$catalogs"
    options+=(--baseline "$work/plans" --baseline-catalogs "$before")
fi

code=0
optimizer gate "${scenarios[@]}" "${options[@]}" "${remember[@]}" "$@" || code=$?
shown
exit "$code"
