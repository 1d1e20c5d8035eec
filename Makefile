.PHONY: run test test-all bench check generate

run: ; @scripts/run
test: ; @scripts/test
test-all: ; @scripts/test --all
bench: ; @benchmarks/api/run
check: ; @scripts/check
generate: ; @scripts/generate
