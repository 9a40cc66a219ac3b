// src/apps/millrace.cpp - the client program, under its own name and those of Slurm's commands.
#include "cli/dispatch.h"

int main(int argc, char** argv) { return millrace::dispatch(argc, argv); }
