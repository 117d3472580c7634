# Run the engine's tests under the address, undefined-behaviour and thread sanitizers, and valgrind.
SANITIZE_BUILD = build/sanitize
ENGINE_DIR = src/quadfeat/_engine/cpp

# The import hook of an editable install takes precedence over PYTHONPATH: remove it.
define SANITIZED_TESTS
import sys
sys.meta_path[:] = [f for f in sys.meta_path if not type(f).__module__.startswith("_editable")]
import pytest, quadfeat._engine as engine
assert "sanitize" in engine.dispatch._core.__file__, engine.dispatch._core.__file__
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "tests/engine"]))
endef
export SANITIZED_TESTS

.PHONY: sanitize sanitize-address sanitize-undefined sanitize-thread sanitize-valgrind
sanitize: $(VENV)/dev.stamp sanitize-address sanitize-undefined sanitize-thread

# The interpreter was built without the sanitizer, so LD_PRELOAD loads its library first. Leaks are not
# reported: the interpreter has its own.
sanitize-address sanitize-undefined: sanitize-%:
	cmake -S . -B $(SANITIZE_BUILD)/$* -G Ninja -DQUADFEAT_SANITIZE=$* \
	  -DPython_EXECUTABLE=$(abspath $(BIN)/python) -DCMAKE_BUILD_TYPE=RelWithDebInfo
	cmake --build $(SANITIZE_BUILD)/$*
	rm -rf $(SANITIZE_BUILD)/$*/package && mkdir -p $(SANITIZE_BUILD)/$*/package
	cp -r src/quadfeat $(SANITIZE_BUILD)/$*/package/
	cp $(SANITIZE_BUILD)/$*/_core*.so $(SANITIZE_BUILD)/$*/package/quadfeat/_engine/
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	LD_PRELOAD="$$(g++ -print-file-name=lib$(if $(filter address,$*),asan,ubsan).so) $$(g++ -print-file-name=libstdc++.so)" \
	PYTHONPATH=$(SANITIZE_BUILD)/$*/package $(BIN)/python -P -c "$$SANITIZED_TESTS"

# Python is not clean under the thread sanitizer, nor under valgrind: the routines run in a C++ program
# instead. Valgrind hides AVX-512, which it does not know.
THREAD_FLAGS = -std=c++17 -O2 -g $(if $(filter thread,$*),-fsanitize=thread)
sanitize-thread sanitize-valgrind: sanitize-%:
	mkdir -p $(SANITIZE_BUILD)/$*
	cd $(SANITIZE_BUILD)/$* && for unit in "baseline" "avx2 -mavx2 -mfma -mprfchw" \
	  "avx512 -mavx512f -mavx512dq -mavx512bw -mavx512vl -mfma -mprfchw"; do set -- $$unit; name=$$1; shift; \
	  g++ $(THREAD_FLAGS) -ffp-contract=off -Wno-psabi $$@ -c $(abspath $(ENGINE_DIR))/units/$$name.cpp || exit 1; done
	g++ $(THREAD_FLAGS) tests/engine/threads.cpp $(SANITIZE_BUILD)/$*/*.o -o $(SANITIZE_BUILD)/$*/run -pthread
	$(if $(filter valgrind,$*),valgrind --quiet --error-exitcode=1 --leak-check=full) $(SANITIZE_BUILD)/$*/run
