.PHONY: run test bench check generate

run: ; @scripts/run
test: ; @scripts/test
bench: ; @benchmarks/api/run
check: ; @scripts/check
generate: ; @scripts/generate
