# The front door. Everything here is a short call of cmake, ctest or a script; `make help` lists it.
#
#   make            install missing Debian packages, configure, build the product (build/bin, build/lib)
#   make demo       the product and two example programs, then show a virtual GPU at work
#   make test       build everything, then run every test; this is what .ci/run does
#   make bench      build everything, then measure
#
# Variables: JOBS (parallel jobs), TEST_JOBS (tests at a time, two more than JOBS), PACKAGES=no (never call apt-get), PREFIX (for install), FUZZ_SECONDS,
# AGAINST (another build folder, for bench).

BUILD   ?= build
PREFIX  ?= /usr/local
JOBS    ?= $(shell nproc)
FUZZ_SECONDS ?= 30
PACKAGES ?= yes
CMAKE_FLAGS ?=

# Two more tests at a time than there are cores: many wait rather than compute. With one more, two cores stood still for a
# sixth of the time.
TEST_JOBS ?= $(shell echo $$(($(JOBS) + 2)))
CTEST := ctest --output-on-failure --no-tests=error -j $(TEST_JOBS)

# $(call packages,GROUP...): installs what is missing of these groups of tools/packages.txt.
packages = $(if $(filter yes,$(PACKAGES)),tools/install_packages.sh $(1),:)
# $(call configure,FLAGS): quiet unless it fails; what cannot be built is said.
configure = mkdir -p $(BUILD) && { cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=Release -DWT_UNITY=ON $(1) $(CMAKE_FLAGS) \
  >$(BUILD)/configure.log 2>&1 || { cat $(BUILD)/configure.log; exit 1; }; } && \
  { grep -h 'left out' $(BUILD)/configure.log || true; }
build = cmake --build $(BUILD) -j $(JOBS) --target $(1)

.PHONY: product demo everything test bench test-pass test-stacks test-suites test-capture test-sanitize-sweep test-sanitize-suites test-sanitize-mutants test-asan test-tsan fuzz package test-package install \
        uninstall clean help
.DEFAULT_GOAL := product

product:
	@$(call packages,build)
	@$(call configure)
	@$(call build,product)

demo:
	@$(call packages,build demo)
	@$(call configure)
	@$(call build,demo)
	@examples/demo.sh $(BUILD)

everything:
	@$(call packages,build demo test)
	@$(call configure,-DWT_TESTS=ON -DWT_BENCH=ON)
	@$(call build,all)

# JIT=on or JIT=verify: with hot code compiled wherever a test does not say otherwise.
test: everything
	@$(if $(JIT),WAVETAP_GPU_JIT=$(JIT)) $(CTEST) --test-dir $(BUILD)

bench:
	@$(call packages,build demo test bench)
	@$(call configure,-DWT_TESTS=ON -DWT_BENCH=ON)
	@$(call build,all)
	@python3 bench/run.py --build $(BUILD) $(if $(AGAINST),--against $(AGAINST))

# Other ROCm generations, in throw-away roots made from Debian 13, sid and experimental packages.
# The compiler pass against the virtual GPU: every compiler there is, -O0 to -O3, wave32 and wave64.
test-pass: everything
	@python3 tests/pass/check.py --build $(BUILD) agree --all
	@python3 tests/pass/check.py --build $(BUILD) hidden --all

test-stacks: everything
	@tests/stacks/run.sh $(BUILD) || { status=$$?; [ $$status = 77 ] && echo 'test-stacks: skipped, see the reasons above'; }

# AMD's own test suites on the virtual GPU. SUITES="rocblas rocsolver", TARGETS="gfx90a", BUDGET=seconds narrow it down;
# SMOKE=yes is a look of ten minutes; SUITES_FLAGS takes any option of tests/suites/run.py.
test-suites: everything
	@python3 tests/suites/run.py --build $(BUILD) $(if $(SUITES),--suites $(SUITES)) $(if $(TARGETS),--targets $(TARGETS)) \
	  $(if $(BUDGET),--budget $(BUDGET)) $(if $(filter yes,$(SMOKE)),--smoke) $(SUITES_FLAGS) \
	  || { status=$$?; [ $$status = 77 ] && echo 'test-suites: skipped, see the reasons above'; }

# Kernels of tests/hip and rocRAND, captured and replayed ten times each, on the engine and through ROCm.
test-capture: everything
	@for model in $(or $(MODELS),rx6800xt mi210); do tests/capture/capture.py --bin $(BUILD)/bin --model $$model everything && \
	  tests/capture/capture.py --bin $(BUILD)/bin --model $$model real_sparse && WT_PROCESSES=200 tests/capture/capture.py --bin $(BUILD)/bin --model $$model many_processes || exit 1; done

# What the sanitizer finds when barriers, waits and invalidations are taken out of kernels: docs/sanitize.md.
test-sanitize-mutants: everything
	@for gpu in rx6800xt mi210; do for kind in barriers waits invalidates; do \
	  echo "$$gpu, $$kind"; python3 tests/sanitize/mutate_$$kind.py --bin $(BUILD)/bin --gpu $$gpu --most 14 --least 95 || exit 1; \
	done; done

# Every program of tests/hip and every example under wavetap sanitize; ONLY=regex narrows it down.
test-sanitize-sweep: everything
	@python3 tests/sanitize/sweep.py --build $(BUILD) $(if $(ONLY),--only '$(ONLY)')

# Cases of rocPRIM's and hipCUB's own tests under wavetap sanitize; packages as for test-suites. BUDGET=seconds for each suite and target.
test-sanitize-suites: everything
	@python3 tests/sanitize/sweep_suites.py --build $(BUILD) $(if $(BUDGET),--budget $(BUDGET))

# HIP programs are not instrumented, so the sanitizer builds take them from the ordinary one. What a sanitizer
# build leaves out: cmake/sanitize.cmake.
test-asan test-tsan: test-%: everything
	@$(call packages,sanitize)
	@cmake --preset $* -DWT_HIP_FROM=$(abspath $(BUILD)) && cmake --build --preset $* -j $(JOBS)
	@$(CTEST) --test-dir build-$*

# Every fuzzer for FUZZ_SECONDS, JOBS at a time, with clang's libFuzzer.
fuzz:
	@$(call packages,build test sanitize)
	@cmake --preset fuzz && cmake --build --preset fuzz -j $(JOBS) --target fuzzers
	@tools/run_fuzzers.sh build-fuzz $(FUZZ_SECONDS) $(JOBS)

install: product
	@cmake --install $(BUILD) --prefix $(PREFIX)

# build/packages/*.deb: wavetap, python3-wavetap, wavetap-doc.
package:
	@$(call packages,build package)
	@$(call configure)
	@$(call build,product)
	@cd $(BUILD) && { cpack -G DEB >package.log 2>&1 || { cat package.log; exit 1; }; }
	@ls -1 $(BUILD)/packages/*.deb

# The packages, installed and tried in a bare Debian made for it.
test-package: package
	@$(call packages,test-package)
	@tests/package/run.sh $(BUILD) || { status=$$?; [ $$status = 77 ] && echo 'test-package: skipped, see the reason above'; }

# What the last `make install` put there.
uninstall:
	@cmake -DMANIFEST=$(abspath $(BUILD))/install_manifest.txt -P cmake/uninstall.cmake

clean:
	rm -rf build build-asan build-tsan build-fuzz build-dev

help:
	@echo 'make              install missing Debian packages, configure, build the product into build/'
	@echo 'make demo         the product and two example programs, then show a virtual GPU at work'
	@echo 'make test         build everything, then run every test (what .ci/run does)'
	@echo 'make bench        build everything, then measure and print ratios; AGAINST=folder: compare with that build'
	@echo 'make test-pass    the compiler pass against the virtual GPU: all compilers and optimisation levels'
	@echo 'make test-stacks  the same library under other ROCm generations'
	@echo 'make test-sanitize-sweep  every HIP test program under wavetap sanitize'
	@echo 'make test-sanitize-suites  cases of rocPRIM and hipCUB under wavetap sanitize'
	@echo 'make test-sanitize-mutants  barriers, waits and invalidations taken out of 21 programs: what is found'
	@echo 'make test-capture every kernel of the test programs, captured and replayed ten times each; MODELS='
	@echo 'make test-suites  AMD'"'"'s own test suites; SUITES=, TARGETS=, BUDGET=seconds, SMOKE=yes (ten minutes)'
	@echo 'make test-asan    the tests under AddressSanitizer and UBSan (build-asan/)'
	@echo 'make test-tsan    the tests under ThreadSanitizer (build-tsan/)'
	@echo 'make fuzz         every fuzzer for FUZZ_SECONDS=30 (build-fuzz/)'
	@echo 'make install      install the product into PREFIX=/usr/local'
	@echo 'make uninstall    remove what the last make install put there'
	@echo 'make package      Debian packages: wavetap, python3-wavetap, wavetap-doc (build/packages/)'
	@echo 'make test-package install them in a bare Debian and try them there'
	@echo 'make clean        remove the build folders'
	@echo
	@echo 'Variables: JOBS=N, TEST_JOBS=N, PACKAGES=no (never call apt-get), BUILD=folder, CMAKE_FLAGS=...'
