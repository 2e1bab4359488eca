# The front door; CMake does the work (CMakePresets.json). `./run` does the same on a system without
# the packages.
PREFIX ?= /usr/local
PRESET ?= release
JOBS ?= $(shell nproc)
BUILD = build/$(PRESET)

.PHONY: all build test test-all test-exhaustive bits random mutate demo bench install deb dist site format lint fuzz clean help

all: build ## the command and the library: build/release/outgrow

build:
	@tools/configure $(PRESET) $(CMAKE_ARGS)
	@cmake --build $(BUILD) -j $(JOBS) $(BUILD_ARGS)

test: CMAKE_ARGS = -DOUTGROW_TESTS=ON -DOUTGROW_UNITS=OFF
test: build ## the tests of a few seconds, with one in 101 of the failures that can be made: three minutes
	@tools/run-tests $(BUILD) --output-on-failure -j $(JOBS) -LE long

test-all: CMAKE_ARGS = -DOUTGROW_TESTS=ON -DOUTGROW_UNITS=OFF
test-all: build ## those too that take ten seconds and more: twelve minutes
	@tools/run-tests $(BUILD) --output-on-failure -j $(JOBS)

test-exhaustive: CMAKE_ARGS = -DOUTGROW_TESTS=ON -DOUTGROW_UNITS=OFF
test-exhaustive: build ## every single failure of every call, 100 kills: a quarter of an hour
	@tools/run-tests $(BUILD) --output-on-failure -j $(JOBS) -C exhaustive -L exhaustive

bits: BUILD_ARGS = --target outgrow
bits: build ## record checksums of what commands write anew (tests/bits); ctest compares them
	@python3 tests/bits/bits.py $(BUILD)/outgrow --update

random: CMAKE_ARGS = -DOUTGROW_TESTS=ON -DOUTGROW_UNITS=OFF
random: BUILD_ARGS = --target random_runs
random: build ## random tiny graphs, each trained on in many ways that must agree; SEED=1 COUNT=600
	@$(BUILD)/tests/random_runs $(or $(SEED),1) $(or $(COUNT),600) --all

# A first build of it alone takes sources several at a time, which is quicker.
demo: CMAKE_ARGS = $(if $(wildcard $(BUILD)/CMakeCache.txt),,-DOUTGROW_UNITS=ON)
demo: BUILD_ARGS = --target outgrow
demo: build ## train on a graph whose features do not fit in memory
	@tools/demo $(BUILD)/outgrow

bench: CMAKE_ARGS = -DOUTGROW_BENCH=ON
bench: build ## measure, write docs/benchmarks/<date>.json, print the ratios
	@python3 bench/suite.py --outgrow $(BUILD)/outgrow $(BENCH_ARGS)

install: build ## into PREFIX (and DESTDIR)
	@cmake --install $(BUILD) --prefix $(PREFIX)

deb: build ## a Debian package of the command: build/outgrow_VERSION_ARCH.deb
	@tools/deb $(BUILD)

dist: ## what is committed as build/outgrow-VERSION.tar.gz, the same bytes each time
	@mkdir -p build
	@name=outgrow-$$(sed -n 's/^#define OG_VERSION_[MP][A-Z]*  *//p' include/outgrow/version.h | paste -sd.) && \
	    git archive --prefix=$$name/ HEAD | gzip -9n >build/$$name.tar.gz && echo build/$$name.tar.gz

site: ## docs as a site: build/site; MKDOCS=path of mkdocs, with mkdocs-material from PyPI
	@tools/site $(or $(MKDOCS),mkdocs)

format: ## rewrite the sources as .clang-format says
	@tools/format

lint: ## format, rooms, clang-tidy
	@tools/format --check
	@tools/rooms --check
	@cmake --preset dev >/dev/null
	@tools/lint build/dev

fuzz: ## build the fuzzers into build/fuzz; SECONDS=10 runs each so long
	@cmake --preset fuzz >/dev/null
	@cmake --build build/fuzz -j $(JOBS)
	@[ -z "$(SECONDS)" ] || tools/fuzz $(SECONDS) $(TARGETS)

mutate: ## break src/ in 200 places, one at a time, and see which the tests notice (tools/mutate --help)
	@tools/mutate $(MUTATE_ARGS)

clean:
	rm -rf build

help:
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' Makefile | sort
