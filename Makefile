# The front door. Everything here is a short call of cmake, ctest or a script; `make help` lists it.
#
#   make            install missing Debian packages, configure, build (build/bin, build/lib)
#   make demo       build, then show a virtual GPU at work
#   make test       build, then run every test; this is what .ci/run does
#   make bench      build, then measure
#
# Variables: JOBS (parallel jobs), PACKAGES=no (never call apt-get), PREFIX (for install), FUZZ_SECONDS.

BUILD   ?= build
PREFIX  ?= /usr/local
JOBS    ?= $(shell nproc)
FUZZ_SECONDS ?= 30
PACKAGES ?= yes
CMAKE_FLAGS ?=

CCACHE := $(shell command -v ccache)
LAUNCHER := $(if $(CCACHE),-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
CTEST := ctest --output-on-failure --no-tests=error -j $(JOBS)

.PHONY: all packages bench-packages sanitize-packages configure build demo test bench test-stacks test-suites test-asan test-tsan fuzz \
        install clean help
.DEFAULT_GOAL := all

all: build

packages:
ifeq ($(PACKAGES),yes)
	@tools/install_packages.sh build test
endif

bench-packages: packages
ifeq ($(PACKAGES),yes)
	@tools/install_packages.sh bench
endif

configure: packages
	@mkdir -p $(BUILD)
	@cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=Release $(LAUNCHER) $(CMAKE_FLAGS) \
	  >$(BUILD)/configure.log 2>&1 || { cat $(BUILD)/configure.log; exit 1; }
	@grep -h 'left out' $(BUILD)/configure.log || true

build: configure
	@cmake --build $(BUILD) -j $(JOBS)

demo: build
	@examples/demo.sh $(BUILD)

test: build
	@$(CTEST) --test-dir $(BUILD)

bench: bench-packages build
	@python3 bench/run.py --build $(BUILD)

# Other ROCm generations, in throw-away roots made from Debian 13, sid and experimental packages.
test-stacks: build
	@tests/stacks/run.sh $(BUILD) || { status=$$?; [ $$status = 77 ] && echo 'test-stacks: skipped, see the reasons above'; }

# AMD's own test suites on the virtual GPU. SUITES="rocblas rocsolver", TARGETS="gfx90a", BUDGET=seconds narrow it down;
# SMOKE=yes is a look of ten minutes; SUITES_FLAGS takes any option of tests/suites/run.py.
test-suites: build
	@python3 tests/suites/run.py --build $(BUILD) $(if $(SUITES),--suites $(SUITES)) $(if $(TARGETS),--targets $(TARGETS)) \
	  $(if $(BUDGET),--budget $(BUDGET)) $(if $(filter yes,$(SMOKE)),--smoke) $(SUITES_FLAGS) \
	  || { status=$$?; [ $$status = 77 ] && echo 'test-suites: skipped, see the reasons above'; }

sanitize-packages: packages
ifeq ($(PACKAGES),yes)
	@tools/install_packages.sh sanitize
endif

# HIP programs are not instrumented, so the sanitizer builds take them from the ordinary one. What a sanitizer
# build leaves out: cmake/sanitize.cmake.
test-asan test-tsan: test-%: sanitize-packages build
	@cmake --preset $* $(LAUNCHER) -DWT_HIP_FROM=$(abspath $(BUILD)) && cmake --build --preset $* -j $(JOBS)
	@$(CTEST) --test-dir build-$*

# Every fuzzer for FUZZ_SECONDS, with clang's libFuzzer.
fuzz: sanitize-packages
	@cmake --preset fuzz $(LAUNCHER) && cmake --build --preset fuzz -j $(JOBS) --target fuzzers
	@tools/run_fuzzers.sh build-fuzz $(FUZZ_SECONDS)

install: build
	@cmake --install $(BUILD) --prefix $(PREFIX)

clean:
	rm -rf build build-asan build-tsan build-fuzz build-dev

help:
	@echo 'make              install missing Debian packages, configure, build into build/'
	@echo 'make demo         build, then show a virtual GPU at work'
	@echo 'make test         build, then run every test (what .ci/run does)'
	@echo 'make bench        build, then measure and print ratios'
	@echo 'make test-stacks  the same library under other ROCm generations'
	@echo 'make test-suites  AMD'"'"'s own test suites; SUITES=, TARGETS=, BUDGET=seconds, SMOKE=yes (ten minutes)'
	@echo 'make test-asan    the tests under AddressSanitizer and UBSan (build-asan/)'
	@echo 'make test-tsan    the tests under ThreadSanitizer (build-tsan/)'
	@echo 'make fuzz         every fuzzer for FUZZ_SECONDS=30 (build-fuzz/)'
	@echo 'make install      install into PREFIX=/usr/local'
	@echo 'make clean        remove the build folders'
	@echo
	@echo 'Variables: JOBS=N, PACKAGES=no (never call apt-get), BUILD=folder, CMAKE_FLAGS=...'
