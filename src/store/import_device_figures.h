// What the layers said of each GPU, from the facts of one process to table wavetap_device_figure.
#pragma once

#include "store/import_process.h"
#include "store/import_tables.h"
#include "store/raw_facts.h"

namespace wavetap::store {

// Nothing when an earlier process was told exactly the same.
void write_device_figures(const RawFacts& facts, ImportDevices& devices, ImportFile& file);

}  // namespace wavetap::store
