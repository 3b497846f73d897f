// The few functions and options of libcurl that are used, declared here so that no -dev package is
// needed. Names and numbers are those of libcurl's documented, stable ABI (soname 4); see the man
// page of each name. The variadic curl_easy_setopt(3), curl_easy_getinfo(3) and
// curl_multi_setopt(3) get one wrapper a type, because Swift cannot call variadic functions.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "Library.h"

#pragma clang assume_nonnull begin

/// Options of curl_easy_setopt(3).
typedef enum crt_curl_option {
    CURLOPT_SSLVERSION = 32, CURLOPT_NOPROGRESS = 43, CURLOPT_NETRC = 51,
    CURLOPT_FOLLOWLOCATION = 52, CURLOPT_SSL_VERIFYPEER = 64, CURLOPT_HTTPGET = 80,
    CURLOPT_SSL_VERIFYHOST = 81, CURLOPT_HTTP_VERSION = 84,
    CURLOPT_NOSIGNAL = 99, CURLOPT_HTTPAUTH = 107, CURLOPT_SSL_SESSIONID_CACHE = 150,
    CURLOPT_TIMEOUT_MS = 155, CURLOPT_CONNECTTIMEOUT_MS = 156, CURLOPT_HTTP_CONTENT_DECODING = 158,
    CURLOPT_PROTOCOLS = 181, CURLOPT_REDIR_PROTOCOLS = 182, CURLOPT_TCP_KEEPALIVE = 213,
    CURLOPT_TCP_KEEPIDLE = 214, CURLOPT_TCP_KEEPINTVL = 215, CURLOPT_PATH_AS_IS = 234,
    CURLOPT_SOCKS5_AUTH = 267, CURLOPT_DISALLOW_USERNAME_IN_URL = 278, CURLOPT_HTTP09_ALLOWED = 285,
    CURLOPT_QUICK_EXIT = 322, CURLOPT_URL = 10002, CURLOPT_PROXY = 10004,
    CURLOPT_POSTFIELDS = 10015, CURLOPT_USERAGENT = 10018, CURLOPT_HTTPHEADER = 10023,
    CURLOPT_CUSTOMREQUEST = 10036, CURLOPT_CAINFO = 10065, CURLOPT_CAPATH = 10097,
    CURLOPT_PRIVATE = 10103, CURLOPT_PROXYUSERNAME = 10175, CURLOPT_PROXYPASSWORD = 10176,
    CURLOPT_NOPROXY = 10177, CURLOPT_UNIX_SOCKET_PATH = 10231, CURLOPT_CONNECT_TO = 10243,
    CURLOPT_POSTFIELDSIZE_LARGE = 30120,
} crt_curl_option;

/// Options of curl_multi_setopt(3).
typedef enum crt_curl_multi_option {
    CURLMOPT_PIPELINING = 3, CURLMOPT_MAXCONNECTS = 6,
} crt_curl_multi_option;

/// Values of some options.
enum {
    CURLPROTO_HTTP = 1, CURLPROTO_HTTPS = 2, CURLAUTH_NONE = 0, CURLAUTH_BASIC = 1,
    CURL_NETRC_IGNORED = 0, CURL_HTTP_VERSION_1_1 = 2, CURL_HTTP_VERSION_2TLS = 4,
    CURLPIPE_MULTIPLEX = 2, CURL_SSLVERSION_TLSv1_2 = 6,
};

/// The codes of libcurl-errors(3) that are distinguished.
enum {
    CURLE_OK = 0, CURLE_UNSUPPORTED_PROTOCOL = 1, CURLE_URL_MALFORMAT = 3,
    CURLE_COULDNT_CONNECT = 7, CURLE_WEIRD_SERVER_REPLY = 8, CURLE_HTTP2 = 16,
    CURLE_PARTIAL_FILE = 18, CURLE_OUT_OF_MEMORY = 27, CURLE_OPERATION_TIMEDOUT = 28,
    CURLE_SSL_CONNECT_ERROR = 35, CURLE_UNKNOWN_OPTION = 48, CURLE_SSL_ENGINE_NOTFOUND = 53,
    CURLE_SSL_ENGINE_SETFAILED = 54, CURLE_RECV_ERROR = 56, CURLE_SSL_CERTPROBLEM = 58,
    CURLE_SSL_CIPHER = 59, CURLE_PEER_FAILED_VERIFICATION = 60, CURLE_BAD_CONTENT_ENCODING = 61,
    CURLE_USE_SSL_FAILED = 64, CURLE_SSL_ENGINE_INITFAILED = 66, CURLE_SSL_CACERT_BADFILE = 77,
    CURLE_SSL_SHUTDOWN_FAILED = 80, CURLE_SSL_CRL_BADFILE = 82, CURLE_SSL_ISSUER_ERROR = 83,
    CURLE_SSL_PINNEDPUBKEYNOTMATCH = 90, CURLE_SSL_INVALIDCERTSTATUS = 91, CURLE_HTTP2_STREAM = 92,
    CURLE_SSL_CLIENTCERT = 98, CURLE_TOO_LARGE = 100,
};

typedef struct crt_curl_table crt_curl_table;
typedef struct crt_curl_list crt_curl_list;

/// A loaded libcurl, for all threads: the table never changes and lives as long as the process.
typedef struct __attribute__((swift_attr("@Sendable"))) crt_curl {
    const crt_curl_table *_Nullable table;
} crt_curl;

/// What another thread may hold of a multi handle: only curl_multi_wakeup(3), which is documented
/// to be callable from any thread while the handle lives. Its holder makes sure of that.
typedef struct __attribute__((swift_attr("@Sendable"))) crt_curl_waker {
    crt_curl curl;
    void *multi;
} crt_curl_waker;

/// The one socket address that a transfer may connect to.
typedef struct crt_curl_address {
    /// 4 or 16 bytes in network byte order.
    uint8_t address[16];
    uint8_t length;
    /// In host byte order.
    uint16_t port;
    /// Whether libcurl tried to connect to another one.
    bool refused;
} crt_curl_address;

/// CURLOPT_WRITEFUNCTION(3) and CURLOPT_HEADERFUNCTION(3): fewer than size*count means abort.
typedef size_t (*crt_curl_receiver)(
    char *_Nullable bytes, size_t size, size_t count, void *_Nullable context);

/// Loads libcurl once per `name` and process, from any thread. NULL: `libcurl.so.4`, or Debian's
/// GnuTLS build `libcurl-gnutls.so.4` where only that is installed (git brings it).
crt_status crt_curl_load(const char *_Nullable name, crt_curl *_Nonnull curl);

/// LIBCURL_VERSION_NUM of the loaded library, e.g. 0x075801 for 7.88.1.
unsigned crt_curl_version(crt_curl curl);

void *_Nullable crt_curl_easy_init(crt_curl curl);
void crt_curl_easy_cleanup(crt_curl curl, void *easy);
int crt_curl_easy_set_long(crt_curl curl, void *easy, crt_curl_option option, long value);
int crt_curl_easy_set_offset(crt_curl curl, void *easy, crt_curl_option option, int64_t value);
/// The library keeps its own copy of the text; NULL resets the option.
int crt_curl_easy_set_text(
    crt_curl curl, void *easy, crt_curl_option option, const char *_Nullable text);
/// The library keeps the pointer: what it points to must outlive the transfer.
int crt_curl_easy_set_pointer(
    crt_curl curl, void *easy, crt_curl_option option, void *_Nullable value);
/// CURLOPT_HTTPHEADER(3) or CURLOPT_CONNECT_TO(3); the list must outlive the transfer.
int crt_curl_easy_set_list(
    crt_curl curl, void *easy, crt_curl_option option, crt_curl_list *_Nullable value);
/// CURLOPT_HEADERFUNCTION(3) with its data.
int crt_curl_easy_set_head_receiver(
    crt_curl curl, void *easy, crt_curl_receiver receiver, void *context);
/// CURLOPT_WRITEFUNCTION(3) with its data.
int crt_curl_easy_set_body_receiver(
    crt_curl curl, void *easy, crt_curl_receiver receiver, void *context);
/// Sets close-on-exec on the transfer's sockets: child processes must not keep them open.
int crt_curl_easy_keep_sockets_from_children(crt_curl curl, void *easy);
/// CURLOPT_OPENSOCKETFUNCTION(3): no socket is opened but for `allowed`, which must outlive the
/// transfer. It is compared with the address that connect(2) will get.
int crt_curl_easy_set_address(crt_curl curl, void *easy, crt_curl_address *allowed);
/// CURLOPT_PREREQFUNCTION(3): the request is sent once. libcurl would send it again by itself where
/// a connection that it had used before ends without a response. Returns libcurl's code; before
/// 7.80 CURLE_UNKNOWN_OPTION. `uses` counts, and must outlive the transfer.
int crt_curl_easy_set_once(crt_curl curl, void *easy, unsigned *uses);
/// Whether the connection is established and the request is about to be or has been sent
/// (CURLINFO_PRETRANSFER_TIME_T(3) above 0).
bool crt_curl_easy_is_connected(crt_curl curl, void *easy);

/// Why the server's certificate was refused, by the numbers of OpenSSL
/// (CURLINFO_SSL_VERIFYRESULT(3), verify(1)); 0 when it was not, or only for its name.
long crt_curl_easy_certificate_fault(crt_curl curl, void *easy);
/// Makes the next crt_curl_multi_perform read for this transfer though its socket is silent
/// (curl_easy_pause(3)). Not from within a receiver.
void crt_curl_easy_read_again(crt_curl curl, void *easy);

/// Appends a copy of `line`. NULL when out of memory; the given list is then still valid.
crt_curl_list *_Nullable crt_curl_list_append(
    crt_curl curl, crt_curl_list *_Nullable list, const char *line);
/// Overwrites every line with zeros, then frees the list: lines hold secrets.
void crt_curl_list_wipe(crt_curl curl, crt_curl_list *_Nullable list);

void *_Nullable crt_curl_multi_init(crt_curl curl);
void crt_curl_multi_cleanup(crt_curl curl, void *multi);
int crt_curl_multi_set_long(crt_curl curl, void *multi, crt_curl_multi_option option, long value);
int crt_curl_multi_add(crt_curl curl, void *multi, void *easy);
int crt_curl_multi_remove(crt_curl curl, void *multi, void *easy);
int crt_curl_multi_perform(crt_curl curl, void *multi);
/// curl_multi_poll(3): waits for traffic, a timer, a wake-up or `milliseconds`.
int crt_curl_multi_poll(crt_curl curl, void *multi, int milliseconds);
/// From now on the transfers' sockets wake nothing until so many bytes wait there, or their end
/// (SO_RCVLOWAT in socket(7)).
void crt_curl_multi_wait_for_bytes(crt_curl curl, void *multi, int count);
int crt_curl_wake(crt_curl_waker waker);
/// The next transfer that ended: its CURLOPT_PRIVATE as a number and its CURLcode.
bool crt_curl_multi_next_ended(crt_curl curl, void *multi, uintptr_t *tag, int *code);

#pragma clang assume_nonnull end
