import CRuntime
import Glibc

/// An easy handle, with what must live as long as it and be wiped with it: field lines and body.
@safe
final class CurlEasy {
    let handle: UnsafeMutableRawPointer
    private let curl: Curl
    private var lines: OpaquePointer?
    private var body: UnsafeMutableRawBufferPointer?
    private var target: OpaquePointer?
    private var door: UnsafeMutablePointer<crt_curl_door>?
    /// What libcurl said to the first option it refused.
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
        unsafe door?.deallocate()
        if let body = unsafe body {
            unsafe body.wipe()
            unsafe body.deallocate()
        }
    }

    /// Whether the connection stands: from here on the peer's pace is watched.
    var isConnected: Bool { unsafe crt_curl_easy_is_connected(curl.library, handle) }

    /// Whether libcurl wanted to connect elsewhere than through the door.
    var wasRefused: Bool { unsafe door?.pointee.refused ?? false }

    /// See ``StallWatch``.
    func nudge() {
        unsafe crt_curl_easy_nudge(curl.library, handle)
    }

    // MARK: Options

    func set(_ option: crt_curl_option, _ value: Int) {
        note(unsafe crt_curl_easy_set_long(curl.library, handle, option, value))
    }

    /// An option that older libraries do not know and that is no loss without.
    func setIfKnown(_ option: crt_curl_option, _ value: Int) {
        let code = unsafe crt_curl_easy_set_long(curl.library, handle, option, value)
        if Int(code) != CURLE_UNKNOWN_OPTION { note(code) }
    }

    /// The library copies `text`; nil takes its default away.
    func set(_ option: crt_curl_option, text: [UInt8]?) {
        guard let text else {
            note(unsafe crt_curl_easy_set_text(curl.library, handle, option, nil))
            return
        }
        precondition(!text.contains(0), "a zero byte would cut the text short")
        var terminated = text + [0]
        unsafe terminated.withUnsafeMutableBytes { bytes in
            let start = unsafe bytes.assumingMemoryBound(to: CChar.self).baseAddress
            note(unsafe crt_curl_easy_set_text(curl.library, handle, option, start))
            unsafe bytes.wipe()
        }
    }

    func set(_ option: crt_curl_option, text: StaticString) {
        set(option, text: FetchField.bytes(of: text))
    }

    /// Comes back when the transfer has ended.
    func set(tag: UInt) {
        let pointer = unsafe UnsafeMutableRawPointer(bitPattern: tag)
        note(unsafe crt_curl_easy_set_pointer(curl.library, handle, CURLOPT_PRIVATE, pointer))
    }

    /// `receiver` must outlive the transfer.
    func set(receiver: Transfer) {
        let context = unsafe Unmanaged.passUnretained(receiver).toOpaque()
        note(unsafe crt_curl_easy_set_head_receiver(curl.library, handle, receiveHead, context))
        note(unsafe crt_curl_easy_set_body_receiver(curl.library, handle, receiveBody, context))
    }

    func keepSocketsFromChildren() {
        note(unsafe crt_curl_easy_keep_sockets_from_children(curl.library, handle))
    }

    /// HTTP/2 if the server takes the offer; stays with HTTP/1.1 if libcurl was built without.
    func offerHTTP2() {
        let code = unsafe crt_curl_easy_set_long(
            curl.library, handle, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
        if Int(code) != CURLE_UNSUPPORTED_PROTOCOL { note(code) }
    }

    /// Connects to `address` and nowhere else; what libcurl is told and what it is held to are two
    /// things. For a literal nothing is looked up, and a connection that was made for one target
    /// is reused for that target only (CURLOPT_CONNECT_TO(3)), unlike with CURLOPT_RESOLVE(3),
    /// whose addresses every transfer to that name would get.
    func connect(only address: IPAddress, port: UInt16) {
        let host = address.family == .v4 ? address.text : [0x5B] + address.text + [0x5D]
        direct(to: Array("::".utf8) + host + Array(":\(port)".utf8))
        allow(only: address, port: port)
    }

    /// `HOST:PORT:CONNECT-TO-HOST:CONNECT-TO-PORT`
    func direct(to line: [UInt8]) {
        let terminated = line + [0]
        unsafe terminated.withUnsafeBytes { bytes in
            let start = unsafe bytes.assumingMemoryBound(to: CChar.self).baseAddress
            guard let start = unsafe start else { return }
            unsafe target = unsafe crt_curl_list_append(curl.library, target, start)
            if unsafe target == nil { note(Int32(CURLE_OUT_OF_MEMORY)) }
        }
        note(unsafe crt_curl_easy_set_target(curl.library, handle, target))
    }

    /// Refuses to open a socket for any other address.
    func allow(only address: IPAddress, port: UInt16) {
        var opened = crt_curl_door()
        unsafe withUnsafeMutableBytes(of: &opened.address) {
            unsafe $0.copyBytes(from: address.bytes)
        }
        opened.length = UInt8(address.bytes.count)
        opened.port = port
        let door = UnsafeMutablePointer<crt_curl_door>.allocate(capacity: 1)
        unsafe door.initialize(to: opened)
        unsafe self.door?.deallocate()
        unsafe self.door = unsafe door
        note(unsafe crt_curl_easy_set_door(curl.library, handle, door))
    }

    /// Adds a line, which ends with a zero byte, to the request head.
    func append(line: [UInt8]) {
        var line = line
        unsafe line.withUnsafeMutableBytes { bytes in
            let start = unsafe bytes.assumingMemoryBound(to: CChar.self).baseAddress
            guard let start = unsafe start else { return }
            let longer = unsafe crt_curl_list_append(curl.library, lines, start)
            if let longer = unsafe longer {
                unsafe lines = longer
            } else {
                note(Int32(CURLE_OUT_OF_MEMORY))
            }
            unsafe bytes.wipe()
        }
    }

    /// Sends the lines that were appended.
    func useLines() {
        note(unsafe crt_curl_easy_set_fields(curl.library, handle, lines))
    }

    /// Sends `bytes` from a copy that is wiped when the transfer is over.
    func set(body bytes: [UInt8]) {
        // One byte at least: without an address libcurl would ask a callback for the body.
        let copy = UnsafeMutableRawBufferPointer.allocate(
            byteCount: max(1, bytes.count), alignment: 1)
        unsafe copy.copyBytes(from: bytes)
        unsafe body = copy
        let size = Int64(bytes.count)
        note(
            unsafe crt_curl_easy_set_offset(
                curl.library, handle, CURLOPT_POSTFIELDSIZE_LARGE, size))
        note(
            unsafe crt_curl_easy_set_pointer(
                curl.library, handle, CURLOPT_POSTFIELDS, copy.baseAddress))
    }

    private func note(_ code: Int32) {
        if status == 0 { status = code }
    }
}

extension UnsafeMutableRawBufferPointer {
    /// Not left out by the compiler, unlike a plain loop over memory that is not read again.
    fileprivate func wipe() {
        if let start = baseAddress { unsafe explicit_bzero(start, count) }
    }
}

// MARK: What libcurl calls

/// CURLOPT_HEADERFUNCTION(3)
private let receiveHead: crt_curl_receiver = { bytes, size, count, context in
    unsafe pass(bytes, size &* count, context) { $0.receive(head: $1) }
}

/// CURLOPT_WRITEFUNCTION(3)
private let receiveBody: crt_curl_receiver = { bytes, size, count, context in
    unsafe pass(bytes, size &* count, context) { $0.receive(body: $1) }
}

/// Hands the bytes to the transfer. Another number than theirs makes libcurl abort.
private func pass(
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
