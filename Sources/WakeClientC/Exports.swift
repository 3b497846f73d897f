public import CReveille
private import Glibc
import Reveille

/// Runs a call of a program: its fault as a number of reveille.h.
func answer(_ body: () throws(CallFault) -> Void) -> Int32 {
    do throws(CallFault) {
        try body()
        return 0
    } catch {
        return error.number
    }
}

/// The open client of this name.
func client(_ name: OpaquePointer?) throws(CallFault) -> LibraryClient {
    try ClientTable.shared.client(UInt(bitPattern: name))
}

// MARK: Opening, running, closing

/// Opens a client; reveille.h says of each function what it promises.
@c @implementation
public func reveille_open(
    _ configuration: UnsafePointer<reveille_configuration>?,
    _ callbacks: UnsafePointer<reveille_callbacks>?, _ name: UnsafeMutablePointer<OpaquePointer?>?
) -> Int32 {
    answer { () throws(CallFault) in
        guard let name = unsafe name else { throw .argument }
        let configuration = try unsafe Reading.configuration(configuration)
        let callbacks = try unsafe AppCallbacks(Reading.check(callbacks).pointee)
        do throws(ClientError) {
            let client = try LibraryClient(configuration, callbacks)
            unsafe name.pointee = OpaquePointer(bitPattern: ClientTable.shared.add(client))
        } catch { throw CallFault(error) }
    }
}

/// Runs the client, with callbacks on a thread of the library.
@c @implementation
public func reveille_start(_ name: OpaquePointer?) -> Int32 {
    answer { () throws(CallFault) in try unsafe client(name).start() }
}

/// Runs the client, with callbacks by `reveille_dispatch`.
@c @implementation
public func reveille_start_polled(
    _ name: OpaquePointer?, _ descriptor: UnsafeMutablePointer<Int32>?
) -> Int32 {
    answer { () throws(CallFault) in
        let client = try unsafe client(name)
        guard let descriptor = unsafe descriptor else { throw .argument }
        unsafe descriptor.pointee = try client.startPolled()
    }
}

/// Calls back for what has happened.
@c @implementation
public func reveille_dispatch(_ name: OpaquePointer?) -> Int32 {
    answer { () throws(CallFault) in try unsafe client(name).dispatch() }
}

/// Ends the client: no callback runs when this has returned.
@c @implementation
public func reveille_close(_ name: OpaquePointer?) -> Int32 {
    answer { () throws(CallFault) in
        try ClientTable.shared.close(UInt(bitPattern: name))
    }
}

/// Frees text that a function returned.
@c @implementation
public func reveille_free(_ text: UnsafeMutableRawPointer?) { unsafe free(text) }

/// The addresses of all texts, which live as long as the library.
private let errorTexts: (known: [Int32: UInt], unknown: UInt) = (
    ErrorTexts.all.mapValues { unsafe UInt(bitPattern: strdup($0)) },
    unsafe UInt(bitPattern: strdup("a number that is no error"))
)

/// An error as a sentence; never NULL.
@c @implementation
public func reveille_error_text(_ error: Int32) -> UnsafePointer<CChar>? {
    unsafe UnsafePointer(bitPattern: errorTexts.known[error] ?? errorTexts.unknown)
}

// MARK: Checks

/// Hands over a wake to a started client.
@c @implementation
public func reveille_wake(_ name: OpaquePointer?, _ reason: Int32) -> Int32 {
    answer { () throws(CallFault) in
        let client = try unsafe client(name)
        client.wake(try Reading.reason(reason))
    }
}

/// Checks now, delivers, and returns when both have ended.
@c @implementation
public func reveille_synchronize(
    _ name: OpaquePointer?, _ reason: Int32, _ outcome: UnsafeMutablePointer<reveille_outcome>?
) -> Int32 {
    answer { () throws(CallFault) in
        let client = try unsafe client(name)
        let reason = try Reading.reason(reason)
        if unsafe outcome != nil { _ = try unsafe Reading.check(UnsafePointer(outcome)) }
        let result = try client.synchronize(reason)
        unsafe outcome?.pointee = reveille_outcome(result)
        if case .failure(let error) = result { throw CallFault(error) }
    }
}

/// Acknowledges a match that was left for later.
@c @implementation
public func reveille_acknowledge(_ name: OpaquePointer?, _ id: UnsafePointer<CChar>?) -> Int32 {
    answer { () throws(CallFault) in
        let client = try unsafe client(name)
        try client.acknowledge(try unsafe Reading.matchID(id))
    }
}

/// Fills a structure with the status.
@c @implementation
public func reveille_get_status(
    _ name: OpaquePointer?, _ status: UnsafeMutablePointer<reveille_status>?
) -> Int32 {
    answer { () throws(CallFault) in
        let client = try unsafe client(name)
        _ = try unsafe Reading.check(UnsafePointer(status))
        let now = try client.wait { client throws(ClientError) in await client.status }
        unsafe status?.pointee = reveille_status(now)
    }
}

/// The status as one JSON object.
@c @implementation
public func reveille_status_json(
    _ name: OpaquePointer?, _ json: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> Int32 {
    answer { () throws(CallFault) in
        let client = try unsafe client(name)
        guard let json = unsafe json else { throw .argument }
        let now = try client.wait { client throws(ClientError) in await client.status.json }
        try unsafe Reading.give(now, to: json)
    }
}
