#!/bin/sh
# Checks format, lint, types and tests. deploy/test.sh [--all] [options of pytest]
# As root on Debian it installs the real programs that tests use; else tests that miss one say so and are skipped.
set -eu
clone=$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin # a plain "su" leaves them out; useradd and cron are there
export PATH
unset PYTHONDONTWRITEBYTECODE # or each of some thousand processes would compile its modules again
. "$clone/deploy/lib.sh"

selection="not slow and not faults" profile=daily
workers=5 # the tests wait more than half of their time, so two cores are busy with five of them
if [ "${1:-}" = --all ]; then
    selection="" profile=all workers=2 # kills and time limits want a machine that is not busy
    export PI_APPLIANCE_COLD=1 # each process of the tests starts Python, as in real life
    shift
fi

case ${1:-} in
    -h | --help)
        cat <<'TEXT'
Usage: deploy/test.sh [--all] [options of pytest]
  Checks format, lint, types and tests in an environment of its own, .venv-test, in about five minutes.
  --all also runs the tests marked `slow` and `faults`: kill campaigns, full disks, long searches,
        and tries ten times as many random examples.
  PI_APPLIANCE_BOTH=1 runs the tests of puzzles a second time, on plain Python.
  Words after it go to pytest: deploy/test.sh -x tests/cli
Exit status: 0 all checks passed, 1 some failed
TEXT
        exit 0
        ;;
esac

programs="mpd mpc mosquitto cron chromium fonts-dejavu-core flac espeak-ng"
# shellcheck disable=SC2086 # a list of words
missing=$(missing_packages $programs)
# shellcheck disable=SC2086
if [ -n "$missing" ] && { ! can_install || ! install_packages $missing; }; then
    say "tests that need these will be skipped: $missing; to have them: sudo apt install $missing"
fi
shell=$(missing_packages chromium-headless-shell) # daily it takes half of the processor time of Chromium
if [ "$profile" = daily ] && [ -n "$shell" ] && can_install && apt-cache show chromium-headless-shell >/dev/null 2>&1; then
    install_packages chromium-headless-shell || say "the pages are tested in Chromium, which takes longer"
fi

need_environment "$clone/.venv-test" "[test]"
cd "$clone"
bin=$clone/.venv-test/bin
failed=
"$bin/ruff" format --check . || failed="$failed format"
"$bin/ruff" check . || failed="$failed rules"
types=$(mktemp)
"$bin/mypy" >"$types" 2>&1 & # beside the tests, which do not keep two cores busy
mypy=$!
trap 'kill $mypy 2>/dev/null || true; rm -f "$types"' EXIT
finish_types() {
    wait $mypy || failed="$failed types"
    cat "$types"
    rm -f "$types"
}
[ "$profile" = daily ] || finish_types # kills and time limits want a machine that is not busy

# run_tests [OPTIONS]: run the selected tests.
run_tests() {
    "$bin/python" -m pytest --hypothesis-profile "$profile" -m "$selection" "$@"
}
# In a new clone one process compiles the modules, or all workers would do so at the same time.
[ -d tests/__pycache__ ] || run_tests --collect-only --quiet >/dev/null || true
status=0
run_tests --numprocesses $workers "$@" || status=$?
# A time limit of a test can be too short while other tests keep the machine busy, so those that failed run again, alone.
# tests/conftest.py lets kill campaigns and the like fail again. With -x and --pdb the other tests have not run.
case " $* " in
    *" -x "* | *" --exitfirst "* | *" --maxfail"* | *" --pdb "*) ;;
    *)
        if [ $status -eq 1 ] && PI_APPLIANCE_SECOND_TRY=1 run_tests --last-failed --maxfail 1 -rfEp "$@"; then
            say "the tests above failed beside others, and passed alone"
            status=0
        fi
        ;;
esac
[ $status -eq 0 ] || failed="$failed tests"
[ "$profile" != daily ] || finish_types
# The tests above compare compiled and plain kernels; this runs all puzzle tests on plain Python (minutes).
if [ "${PI_APPLIANCE_BOTH:-}" = 1 ]; then
    PI_APPLIANCE_PLAIN=1 "$bin/python" -m pytest --numprocesses $workers tests/puzzles ||
        failed="$failed plain-puzzles"
fi
[ -z "$failed" ] || die "failed:$failed"
say "all checks passed"
