// Linked into the service only: replaces free(3) and realloc(3) of the whole process. Nothing to
// call, and nothing to import.
#pragma once
