import CRuntime
import Glibc
import WakeSystem

/// An easy handle, with the field lines and the body that live as long as it and are wiped with it.
@safe
final class CurlEasy {
    let handle: UnsafeMutableRawPointer
    private let curl: Curl
    private var lines: OpaquePointer?
    private var body: UnsafeMutableRawBufferPointer?
    private var target: OpaquePointer?
    private var onlyAddress: UnsafeMutablePointer<crt_curl_address>?
    /// How often the request was about to be sent.
    private var uses: UnsafeMutablePointer<UInt32>?
    /// libcurl's code for the first option it refused.
    private(set) var status: Int32 = 0

    /// nil when out of memory.
    init?(_ curl: Curl) {
        guard let handle = unsafe crt_curl_easy_init(curl.library) else { return nil }
        self.curl = curl
        unsafe self.handle = unsafe handle
    }

    deinit {
        unsafe crt_curl_easy_cleanup(curl.library, handle)
        unsafe crt_curl_list_wipe(curl.library, lines)
        unsafe crt_curl_list_wipe(curl.library, target)
        unsafe onlyAddress?.deallocate()
        unsafe uses?.deallocate()
        if let body = unsafe body {
            unsafe body.wipe()
            unsafe body.deallocate()
        }
    }

    /// Whether the connection is established: from then on the throughput is checked.
    var isConnected: Bool { unsafe crt_curl_easy_is_connected(curl.library, handle) }

    /// Why the certificate was refused, by OpenSSL's numbers; 0 when only its name was wrong.
    var certificateFault: Int { unsafe crt_curl_easy_certificate_fault(curl.library, handle) }

    /// Whether libcurl tried to connect to another address than the allowed one.
    var wasRefused: Bool { unsafe onlyAddress?.pointee.refused ?? false }

    /// Whether libcurl was kept from sending the request again, see ``sendOnce()``.
    var wouldRepeat: Bool { unsafe uses.map { unsafe $0.pointee > 1 } ?? false }

    func readAgain() { unsafe crt_curl_easy_read_again(curl.library, handle) }

    /// - Parameter tolerated: the code of libraries without the option or the value.
    func set(_ option: crt_curl_option, _ value: Int, tolerating tolerated: Int? = nil) {
        let code = unsafe crt_curl_easy_set_long(curl.library, handle, option, value)
        if Int(code) != tolerated { check(code) }
    }

    /// Sets a text, which libcurl copies; nil removes libcurl's default.
    func set(_ option: crt_curl_option, text: [UInt8]?) {
        guard let text else {
            return check(unsafe crt_curl_easy_set_text(curl.library, handle, option, nil))
        }
        precondition(!text.contains(0), "a zero byte would cut the text short")
        unsafe withCString(text + [0]) {
            check(unsafe crt_curl_easy_set_text(curl.library, handle, option, $0))
        }
    }

    func set(_ option: crt_curl_option, text: StaticString) { set(option, text: text.bytes) }

    /// Sets the tag that `CurlMulti.nextEnded` returns.
    func set(tag: UInt) {
        let pointer = unsafe UnsafeMutableRawPointer(bitPattern: tag)
        check(unsafe crt_curl_easy_set_pointer(curl.library, handle, CURLOPT_PRIVATE, pointer))
    }

    /// `receiver` must outlive the transfer.
    func set(receiver: Transfer) {
        let context = unsafe Unmanaged.passUnretained(receiver).toOpaque()
        check(unsafe crt_curl_easy_set_head_receiver(curl.library, handle, receiveHead, context))
        check(unsafe crt_curl_easy_set_body_receiver(curl.library, handle, receiveBody, context))
    }

    /// Keeps libcurl from sending the request again where a connection ends without a response: it
    /// may have been handled (RFC 9110 §9.2.2). libcurl before 7.80 cannot be kept from it.
    func sendOnce() {
        let pointer = UnsafeMutablePointer<UInt32>.allocate(capacity: 1)
        unsafe pointer.initialize(to: 0)
        unsafe uses = unsafe pointer
        let code = unsafe crt_curl_easy_set_once(curl.library, handle, pointer)
        if Int(code) != CURLE_UNKNOWN_OPTION { check(code) }
    }

    func keepSocketsFromChildren() {
        check(unsafe crt_curl_easy_keep_sockets_from_children(curl.library, handle))
    }

    /// Connects to `address` only: libcurl is directed there, every other socket is refused. No
    /// name is looked up, and a connection is reused for its own target only
    /// (CURLOPT_CONNECT_TO(3)); the addresses of CURLOPT_RESOLVE(3) would be every transfer's.
    func connect(only address: IPAddress, port: UInt16) {
        let host = address.family == .v4 ? address.text : [0x5B] + address.text + [0x5D]
        direct(to: Array("::".utf8) + host + Array(":\(port)".utf8))
        allow(only: address, port: port)
    }

    /// `HOST:PORT:CONNECT-TO-HOST:CONNECT-TO-PORT`
    func direct(to line: [UInt8]) {
        unsafe withCString(line + [0]) {
            unsafe target = unsafe crt_curl_list_append(curl.library, target, $0)
            if unsafe target == nil { check(Int32(CURLE_OUT_OF_MEMORY)) }
        }
        check(unsafe crt_curl_easy_set_list(curl.library, handle, CURLOPT_CONNECT_TO, target))
    }

    /// Refuses to open a socket for any other address.
    func allow(only address: IPAddress, port: UInt16) {
        var allowed = crt_curl_address()
        unsafe withUnsafeMutableBytes(of: &allowed.address) {
            unsafe $0.copyBytes(from: address.bytes)
        }
        allowed.length = UInt8(address.bytes.count)
        allowed.port = port
        let pointer = UnsafeMutablePointer<crt_curl_address>.allocate(capacity: 1)
        unsafe pointer.initialize(to: allowed)
        unsafe onlyAddress?.deallocate()
        unsafe onlyAddress = unsafe pointer
        check(unsafe crt_curl_easy_set_address(curl.library, handle, pointer))
    }

    /// Adds a line, which ends with a zero byte, to the request head; `useLines` sends them.
    func append(line: [UInt8]) {
        unsafe withCString(line) {
            let longer = unsafe crt_curl_list_append(curl.library, lines, $0)
            if unsafe longer == nil { return check(Int32(CURLE_OUT_OF_MEMORY)) }
            unsafe lines = longer
        }
    }

    func useLines() {
        check(unsafe crt_curl_easy_set_list(curl.library, handle, CURLOPT_HTTPHEADER, lines))
    }

    /// Sends `bytes` from a copy that is wiped after the transfer.
    func set(body bytes: [UInt8]) {
        // One byte at least: without an address libcurl would ask a callback for the body.
        let copy = UnsafeMutableRawBufferPointer.allocate(
            byteCount: max(1, bytes.count), alignment: 1)
        unsafe copy.copyBytes(from: bytes)
        unsafe body = copy
        let size = Int64(bytes.count)
        check(
            unsafe crt_curl_easy_set_offset(
                curl.library, handle, CURLOPT_POSTFIELDSIZE_LARGE, size))
        check(
            unsafe crt_curl_easy_set_pointer(
                curl.library, handle, CURLOPT_POSTFIELDS, copy.baseAddress))
    }

    /// Lends bytes that end with a zero byte, and wipes them.
    private func withCString(_ bytes: [UInt8], _ body: (UnsafePointer<CChar>) -> Void) {
        var bytes = bytes
        unsafe bytes.withUnsafeBytes { buffer in
            let start = unsafe buffer.assumingMemoryBound(to: CChar.self).baseAddress
            if let start = unsafe start { unsafe body(start) }
        }
        bytes.wipe()
    }

    private func check(_ code: Int32) {
        if status == 0 { status = code }
    }
}

extension UnsafeMutableRawBufferPointer {
    /// Not removed by the compiler, unlike a loop over memory that is not read again.
    fileprivate func wipe() {
        if let start = baseAddress { unsafe explicit_bzero(start, count) }
    }
}

// MARK: Callbacks of libcurl

/// CURLOPT_HEADERFUNCTION(3)
private let receiveHead: crt_curl_receiver = { bytes, size, count, context in
    unsafe forward(bytes, size &* count, context) { $0.receive(head: $1) }
}

/// CURLOPT_WRITEFUNCTION(3)
private let receiveBody: crt_curl_receiver = { bytes, size, count, context in
    unsafe forward(bytes, size &* count, context) { $0.receive(body: $1) }
}

/// Forwards the bytes to the transfer. Any other return value than their count aborts.
private func forward(
    _ bytes: UnsafeMutablePointer<CChar>?, _ count: Int, _ context: UnsafeMutableRawPointer?,
    to receive: (Transfer, Span<UInt8>) -> Bool
) -> Int {
    let refusal = count == 0 ? 1 : 0
    guard let context = unsafe context else { return refusal }
    let transfer = unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
    let raw = unsafe UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count)
    let buffer = unsafe raw.assumingMemoryBound(to: UInt8.self)
    return unsafe receive(transfer, buffer.span) ? count : refusal
}
