// Nothing to call: to link this module is to have libsodium behind WakeCrypto, see CCrypto.h.
#pragma once
