#include "cli/known_devices.h"

#include "cli/install_tree.h"
#include "vgpu/model.h"

namespace wavetap::cli {

std::vector<doctor::KnownDevice> known_devices() {
  std::vector<doctor::KnownDevice> devices;
  for (const std::string& name : vgpu::list_models(models_folder())) {
    const Result<vgpu::Model> model = vgpu::load_model(models_folder(), name);
    if (!model.ok() || !model->quirks.empty()) continue;
    doctor::KnownDevice device;
    device.name = model->name;
    device.marketing_name = model->marketing_name;
    device.target = model->target;
    device.device_id = model->device_id;
    device.revision = model->revision;
    device.compute_units = model->compute_units;
    device.wave_size = model->wave_size;
    device.lds_kib = model->lds_kib;
    device.engine_clock_mhz = model->engine_clock_mhz;
    device.l2_kib = model->l2_kib;
    device.l3_kib = model->l3_kib;
    device.vram_bytes = model->vram_bytes;
    device.xccs = model->xccs;
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace wavetap::cli
