// src/apps/own_face.h - how an agent proves to the controller who it is: by its key, or by what munged vouches for.
#pragma once

#include <memory>
#include <string>

#include "config/configuration.h"
#include "platform/dialer.h"
#include "platform/munge.h"

namespace millrace {

class OwnFace {
 public:
  // `key_file` is empty where slurm.conf's place is meant. A relay on the controller's machine has the cluster's key,
  // which opens everything.
  static Result<OwnFace> find(const Configuration& configuration, std::string node, const std::string& key_file,
                              bool relay);
  Result<NodeFace> show() const;
  const Munge* munge() const { return munge_.get(); }  // none: by a key

 private:
  std::string node_, slurm_user_, identity_, key_;
  std::unique_ptr<Munge> munge_;
};

}  // namespace millrace
