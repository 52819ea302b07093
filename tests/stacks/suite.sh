#!/usr/bin/env bash
# Runs the virtual GPU under one ROCm stack. Called by run.sh, in a mount namespace of its own: the mounts
# below vanish with the last process.
#
#   suite.sh SUITE ROOT MODE...      ROOT: a folder made by tests/roots/make_root.sh, or / for this machine's own ROCm
#
# From run.sh's environment: SOURCE (the source tree), BUILD (bin/wavetap, lib/libwavetap_gpu.so), PROGRAMS
# (where compiled test programs are kept), RESULTS (one line "SUITE MODE GROUP TEST pass|fail|skip" each is
# appended), LOGS (a file per test), JOBS, QUICK (yes or no).
#
# `wavetap run` is the host's and the preloaded library is the one of BUILD; only the program under test
# and AMD's libraries come from ROOT. That works because the folders involved have the same path inside
# and outside.
set -uo pipefail

suite=$1 root=${2%/}
shift 2
modes=$*

export TMPDIR=$RESULTS.tmp LC_ALL=C
export HIP_MEM_POOL_SUPPORT=1  # HIP 5 has hipMallocAsync's pools, switched off
programs=$PROGRAMS/$suite
mkdir -p "$TMPDIR" "$programs"/{hip,hsa,co}

if [ -n "$root" ]; then
  for folder in proc sys dev; do mount --rbind "/$folder" "$root/$folder" || exit 1; done
  for folder in "$SOURCE" "$BUILD" "$PROGRAMS" "$TMPDIR"; do
    mkdir -p "$root$folder" && mount --bind "$folder" "$root$folder" || exit 1
  done
  inside=(chroot "$root")
else
  inside=()
fi

# ---- Programs -------------------------------------------------------------------------------------------

hsa_programs="pools signals queues copies timing ipc lifetime faults"
# All of the runtime's behaviour, and kernels of each kind: this tests the driver under another runtime and
# the engine with another compiler's code, not every algorithm again.
kernel_programs="vector_add graphs atomics_global atomics_lds cross_lane device_globals device_printf dynamic_lds
  fft half_math int64_ops libm_f32 matmul_f16 matmul_f32 mfma radix_sort reduction scan scratch_arrays votes"
# What tests/capture takes beside its own programs.
capture_programs="bitonic_sort vector_add function_pointers large_kernargs device_printf fault_assert stream_overlap"
runtime_programs=$(cd "$SOURCE/tests/hip/runtime" && ls -- *.hip | sed 's/\.hip$//')
if [ "$QUICK" = yes ]; then
  hsa_programs="pools signals copies ipc lifetime faults"
  kernel_programs="vector_add graphs"
  runtime_programs="device_query fault_read host_register ipc_memory malloc_async managed_memory memcpy_kinds
    memory_info streams two_gpus virtual_memory"
fi

[ "$modes" = capture ] || [ "$modes" = pass ] && hsa_programs="" kernel_programs="" runtime_programs=""

# The newest clang of the stack: the one hipcc uses.
clang=$(cd "$root/usr/bin" && ls clang-[0-9]* 2> /dev/null | grep -E '^clang-[0-9]+$' | sort -t- -k2 -n | tail -n 1)
[ -n "$root" ] || clang=clang-15
# The targets of every program, and of vector_add where the stack knows newer GPUs.
archs="gfx1030 gfx90a"
[ -z "$root" ] && newer_archs="" || newer_archs="gfx942 gfx1100"

offload_archs() { printf -- '--offload-arch=%s ' "$@"; }

# up_to_date OUTPUT: made from files of this source tree, and newer than they are.
up_to_date() {
  local file ours=no
  [ -e "$1" ] && [ -e "$1.d" ] || return 1
  for file in $(tr -d '\\\n' < "$1.d"); do
    [[ $file == "$SOURCE"/* ]] || continue
    ours=yes
    [ "$1" -nt "$file" ] || return 1
  done
  [ $ours = yes ]
}

# compile OUTPUT SOURCE COMMAND...: a failure is a result like any other.
compile() {
  local output=$1 source=$2 name log
  shift 2
  name=$(basename "$output")
  log=$LOGS/$suite.build.$name.log
  up_to_date "$output" && return 0
  rm -f "$output"
  if ! "${inside[@]}" "$@" "$source" -o "$output" -MD -MF "$output.d" > "$log" 2>&1; then
    printf '%s\tbuild\tbuild\t%s\tfail\n' "$suite" "$name" >> "$RESULTS"
  fi
}

throttle() { while [ "$(jobs -rp | wc -l)" -ge "$JOBS" ]; do wait -n; done; }

compile_hip() {
  local name=$1 source folder all=$archs libraries=
  for folder in runtime kernels; do
    [ -e "$SOURCE/tests/hip/$folder/$name.hip" ] && source=$SOURCE/tests/hip/$folder/$name.hip
  done
  [ "$name" = vector_add ] && all="$archs $newer_archs"
  [ "$name" = callbacks ] && libraries=-ldl
  compile "$programs/hip/$name" "$source" hipcc $(offload_archs $all) -O2 -std=c++17 -Wno-unused-result \
    -Wno-unused-command-line-argument -I"$SOURCE/tests/hip" $libraries
}

compile_all() {
  local name arch
  for name in $(printf '%s\n' $runtime_programs $kernel_programs $([[ " $modes " == *" capture "* ]] && echo $capture_programs) | sort -u); do
    throttle
    compile_hip "$name" &
  done
  [ "$modes" = capture ] || compile "$programs/hip/module_kernels.co" "$SOURCE/tests/hip/modules/module_kernels.hip" \
    hipcc --genco $(offload_archs $archs) -O2
  for name in $hsa_programs; do
    throttle
    compile "$programs/hsa/$name" "$SOURCE/tests/hsa/$name.cc" g++ -std=c++20 -O2 -DLITTLEENDIAN_CPU=1 \
      "-DWT_CODE_OBJECT_DIR=\"$programs/co\"" -pthread -Wl,--no-as-needed -lhsa-runtime64 &
  done
  local hiprtc=  # a library of its own from HIP 6 on
  compgen -G "$root/usr/lib/*/libhiprtc.so" > /dev/null && hiprtc=-lhiprtc
  for name in capture_cases two_modules; do
    throttle
    compile "$programs/hip/$name" "$SOURCE/tests/capture/$name.hip" hipcc $(offload_archs $archs) -O2 -std=c++17 -Wno-unused-result \
      -Wno-unused-command-line-argument -I"$SOURCE/tests/hip" -DLITTLEENDIAN_CPU=1 -fno-omit-frame-pointer \
      -Wl,--no-as-needed -lhsa-runtime64 $hiprtc -pthread -ldl &
  done
  [ "$modes" = capture ] && { wait; return; }
  # It also holds our layout of HIP's device properties against the headers of the stack.
  compile "$programs/hip/hip_user" "$SOURCE/tests/doctor/shim/hip_user.cc" hipcc -O2 -std=c++20 -I"$SOURCE/src"
  for arch in $archs; do
    compile "$programs/co/hsa_kernels_$arch.hsaco" "$SOURCE/tests/hsa/kernels.cl" "$clang" -x cl -cl-std=CL2.0 \
      --target=amdgcn-amd-amdhsa -mcpu="$arch" -nogpulib -O2 -g -mcode-object-version=4
  done
  wait
}

# ---- Checks ---------------------------------------------------------------------------------------------

declare -A mode_options=([default]=--no-trace [small-bar]="--no-trace --gpu-option small-bar"
  [svm]="--no-trace --gpu-option svm" [low-va]="--no-trace --gpu-option low-va" [traced]=)

# What must be printed by programs that end in a fault; others must exit with 0. ROCr up to 6.4 ends the
# process with its own report, 7 hands HIP an error.
page_fault='Memory access fault by GPU node-1|hipErrorIllegalAddress'
aborted='HSA_STATUS_ERROR_EXCEPTION|hipErrorLaunchFailure|hipErrorIllegalAddress|hipErrorAssert'
declare -A must_print=([fault_read]=$page_fault [fault_null]=$page_fault [fault_write_freed]=$page_fault
  [fault_assert]="Device-side assertion .value.*($aborted)" [fault_trap]=$aborted)

# check MODE GROUP TEST MODELS PATTERN COMMAND...: runs COMMAND inside the stack on the virtual GPUs and
# records whether it did what it must. An empty PATTERN: exit status 0 (77: skipped). Otherwise the output
# must match PATTERN and report no failed check. A trace, in mode traced, must hold all that was launched.
# More options for `wavetap run` are in extra_options.
extra_options=
check() {
  local mode=$1 group=$2 test=$3.$4 models=$4 pattern=$5 program=$3 log text trace verdict=fail status
  local options=(${mode_options[$mode]} $extra_options)
  shift 5
  log=$LOGS/$suite.$mode.$group.$test.log
  trace=$TMPDIR/$group.$test.rpd
  [ "$mode" = traced ] && options+=(-o "$trace")
  WT_MODEL_FILE=$SOURCE/models/$models.gpu timeout -k 5 "${CHECK_SECONDS:-300}" \
    "$BUILD/bin/wavetap" run --no-checks --gpu "$models" "${options[@]}" -- "${inside[@]}" "$@" > "$log" 2>&1
  status=$?
  echo "exit status $status" >> "$log"
  if [ -n "$pattern" ]; then
    text=$(< "$log")
    [[ $text =~ $pattern ]] && ! grep -q '^FAIL ' "$log" && verdict=pass
  elif [ "$status" = 0 ]; then
    verdict=pass
  elif [ "$status" = 77 ]; then
    verdict=skip
  fi
  if [ "$mode" = traced ]; then
    if [ $verdict = pass ]; then
      python3 "$SOURCE/tests/stacks/check_trace.py" "$BUILD/bin/wavetap" "$trace" "$program" >> "$log" 2>&1 || verdict=fail
    fi
    rm -f "$trace"
  fi
  printf '%s\t%s\t%s\t%s\t%s\n' "$suite" "$mode" "$group" "$test" "$verdict" >> "$RESULTS"
}

spawn_check() { throttle; check "$@" & }

check_rocminfo() {
  local mode=$1 models=$2 name files=()
  for name in ${models//,/ }; do files+=("$SOURCE/models/$name.gpu"); done
  check "$mode" tools rocminfo "$models" '' rocminfo
  python3 "$SOURCE/tests/stacks/check_rocminfo.py" "${files[@]}" \
    < "$LOGS/$suite.$mode.tools.rocminfo.$models.log" > "$LOGS/$suite.$mode.tools.figures.$models.log"
  [ $? = 0 ] && verdict=pass || verdict=fail
  printf '%s\t%s\ttools\tfigures.%s\t%s\n' "$suite" "$mode" "$models" "$verdict" >> "$RESULTS"
}

check_tools() {
  local mode=$1
  check_rocminfo "$mode" rx6800xt,mi210
  [ -z "$newer_archs" ] || check_rocminfo "$mode" mi300x,rx7900xtx
  spawn_check "$mode" tools rocm_smi rx6800xt,mi210 '0x73bf.*0x740f' rocm-smi --showid
  spawn_check "$mode" tools rocm_agent_enumerator rx6800xt,mi210 'gfx1030.*gfx90a' rocm_agent_enumerator
}

check_hsa() {
  local mode=$1 name model arguments
  for model in rx6800xt mi210; do
    for name in $hsa_programs; do
      [ "$name" = faults ] && continue
      arguments=()
      [ "$name" = signals ] && [ "$suite" = experimental ] && arguments=(no-wait-any)
      spawn_check "$mode" hsa "$name" "$model" '' "$programs/hsa/$name" "${arguments[@]}"
    done
    spawn_check "$mode" hsa faults_callbacks "$model" '' "$programs/hsa/faults" callbacks
    spawn_check "$mode" hsa faults_memory "$model" '' "$programs/hsa/faults" memory
  done
  spawn_check "$mode" hsa faults_uncaught rx6800xt 'in kernel poke.*kernels\.cl:.*Memory access fault by GPU node-1' \
    "$programs/hsa/faults" memory-uncaught
}

check_hip() {
  local mode=$1 name model models arguments kernels=$kernel_programs
  # What a kernel computes does not depend on the mode; where its memory lies does.
  [ "$mode" = default ] || [ "$mode" = traced ] || kernels="vector_add graphs device_globals device_printf scratch_arrays"
  [ "$QUICK" = yes ] && kernels=$kernel_programs
  for name in $runtime_programs $kernels; do
    models="rx6800xt mi210"
    [ "$name" = two_gpus ] && models="rx6800xt,mi210 mi210,mi210"
    [ "$name" = vector_add ] && [ -n "$newer_archs" ] && models+=" mi300x rx7900xtx"
    arguments=()
    [ "$name" = module_load ] && arguments=("$programs/hip/module_kernels.co")
    for model in $models; do
      spawn_check "$mode" hip "$name" "$model" "${must_print[$name]:-}" "$programs/hip/$name" "${arguments[@]}"
    done
  done
}

# What a program is told of the GPU, put right: 36 WGPs, though the driver says 18.
check_corrected() {
  local extra_options=--correct-device
  check traced hip corrected zluda-rx6800xt '0 properties 36 2575 32 65536 gfx1030.*0 attributes 36 2575 32 65536' \
    "$programs/hip/hip_user"
}

# tests/capture under this ROCm: what depends on the runtime, captures of the suites before, and those of $WT_FOLDER.
# $WT_CASES: only these.
check_captures() {
  local model case log verdict cases="kinds vmm imported host_calls same_names in_place two_gpus unordered other_host kept generations many_processes"
  [ "$QUICK" = yes ] && cases="other_host kept generations many_processes"
  [ -n "${WT_FOLDER:-}" ] && cases+=" folder"
  cases=${WT_CASES:-$cases}
  for model in rx6800xt mi210; do
    for case in $cases; do
      log=$LOGS/$suite.capture.capture.$case.$model.log
      verdict=fail
      WT_PROCESSES=200 python3 "$SOURCE/tests/capture/capture.py" --bin "$BUILD/bin" --programs "$programs/hip" --model "$model" \
        ${root:+--root "$root"} ${WT_FOLDER:+--folder "$WT_FOLDER"} "$case" > "$log" 2>&1
      case $? in 0) verdict=pass ;; 77) verdict=skip ;; esac
      printf '%s\tcapture\tcapture\t%s\t%s\n' "$suite" "$case.$model" "$verdict" >> "$RESULTS"
    done
  done
}

# Code objects in the place of others, as this HIP reads them.
check_swaps() {
  local flags name model verdict log
  for flags in "" -DNEW -DOTHER; do
    name=wholes${flags:+_$(tr A-Z a-z <<< "${flags#-D}")}
    throttle
    compile "$programs/hip/$name" "$SOURCE/tests/swap/wholes.hip" hipcc $(offload_archs $archs) -O2 -std=c++17 $flags \
      -Wno-unused-result -Wno-unused-command-line-argument -I"$SOURCE/tests/hip" -pthread &
  done
  wait
  for model in rx6800xt mi210; do
    log=$LOGS/$suite.swap.hip.whole.$model.log
    verdict=fail
    python3 "$SOURCE/tests/swap/swap.py" --bin "$BUILD/bin" --programs "$programs/hip" --model "$model" ${root:+--root "$root"} whole \
      > "$log" 2>&1 && verdict=pass
    printf '%s\tswap\thip\twhole.%s\t%s\n' "$suite" "$model" "$verdict" >> "$RESULTS"
  done
}

# tests/pass with each of the stack's versions of LLVM; code objects run under this machine's ROCm.
check_pass() {
  local version log verdict
  for version in $(cd "$root/usr/lib" && ls -d llvm-*/include/llvm/IR 2> /dev/null | sed 's,^llvm-\([0-9]*\)/.*,\1,'); do
    log=$LOGS/$suite.pass.pass.llvm-$version.log
    verdict=fail
    python3 "$SOURCE/tests/pass/check.py" --build "$BUILD" --root "$root" --clang "$version" agree > "$log" 2>&1 && verdict=pass
    printf '%s\tpass\tpass\t%s\t%s\n' "$suite" "llvm-$version" "$verdict" >> "$RESULTS"
  done
}

[ "$modes" = pass ] || [ "$modes" = swap ] || compile_all
for mode in $modes; do
  if [ "$mode" = pass ]; then
    [ -z "$root" ] || check_pass
    continue
  fi
  if [ "$mode" = swap ]; then
    check_swaps
    continue
  fi
  if [ "$mode" = capture ]; then
    check_captures
    continue
  fi
  if [ "$mode" = traced ]; then
    check_corrected
    check_hip traced
    wait
    continue
  fi
  check_tools "$mode"
  check_hsa "$mode"
  check_hip "$mode"
  wait
done
