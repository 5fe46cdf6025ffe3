# Two commands: `make demo` shows the measured problem and its cure, `make check` runs the tests.
# Both install what is missing (through apt-get, with sudo where you are not root) and build.

BUILD = build

all: $(BUILD)/build.ninja
	ninja -C $(BUILD)

deps:
	@tools/install-deps.sh

$(BUILD)/build.ninja: | deps
	meson setup $(BUILD)

demo: deps all
	@tools/demo.sh $(BUILD)

check: deps all
	@tests/check.sh $(BUILD)

soak: deps all
	@tests/soak.sh $(BUILD)

bench: deps all
	@bench/run.sh $(BUILD)

# Debian packages, in $(BUILD)/packages/debs, tried on a clean system of their own.
package: deps
	@tests/packages/packages.py $(BUILD)/src/cli/larder $(BUILD)/packages

# The loader has to hear of a new library, but for what is only staged (DESTDIR=...).
install: all
	meson install --no-rebuild -C $(BUILD)
	[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || ldconfig

clean:
	rm -rf $(BUILD) $(BUILD)-asan

.PHONY: all deps demo check soak bench package install clean
