public import CReveille
import Reveille

/// Runs a change of the secrets, with their faults as those of the call.
private func changing<Value>(
    _ body: () throws(SecretDirectory.Fault) -> Value
) throws(CallFault) -> Value {
    do throws(SecretDirectory.Fault) {
        return try body()
    } catch {
        throw CallFault(error)
    }
}

/// Adds a secret.
@c @implementation
public func reveille_add_secret(
    _ name: OpaquePointer?, _ label: UnsafePointer<CChar>?, _ secret: UnsafeRawPointer?,
    _ size: Int
) -> Int32 {
    answer { () throws(CallFault) in
        let client = try unsafe client(name)
        let label = try unsafe Reading.text(label)
        guard let secret = unsafe secret else { throw .argument }
        // Before a byte is read.
        guard SecretDirectory.allowedByteCounts.contains(size) else {
            throw CallFault(SecretDirectory.Fault.size)
        }
        let bytes = unsafe UnsafeRawBufferPointer(start: secret, count: size)
        try changing { () throws(SecretDirectory.Fault) in
            try client.secrets.add(unsafe Span(_unsafeBytes: bytes), named: label)
        }
    }
}

/// Overwrites and removes a secret.
@c @implementation
public func reveille_remove_secret(
    _ name: OpaquePointer?, _ label: UnsafePointer<CChar>?
) -> Int32 {
    answer { () throws(CallFault) in
        let client = try unsafe client(name)
        let label = try unsafe Reading.text(label)
        try changing { () throws(SecretDirectory.Fault) in try client.secrets.remove(named: label) }
    }
}

/// The names of the secrets, each followed by a newline.
@c @implementation
public func reveille_secret_names(
    _ name: OpaquePointer?, _ names: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> Int32 {
    answer { () throws(CallFault) in
        let client = try unsafe client(name)
        guard let names = unsafe names else { throw .argument }
        let found = try changing { () throws(SecretDirectory.Fault) in try client.secrets.names() }
        try unsafe Reading.give(found.map { $0 + "\n" }.joined(), to: names)
    }
}

// MARK: Registration

/// Stores a push token as desired.
@c @implementation
public func reveille_register(
    _ name: OpaquePointer?, _ token: UnsafePointer<reveille_push_token>?
) -> Int32 {
    answer { () throws(CallFault) in
        let client = try unsafe client(name)
        let token = try unsafe Reading.pushToken(token)
        try client.wait { client throws(ClientError) in try await client.setDesired(token) }
    }
}

/// Stores as desired that the service holds nothing.
@c @implementation
public func reveille_unregister(_ name: OpaquePointer?) -> Int32 {
    answer { () throws(CallFault) in
        try unsafe client(name).unregister()
    }
}

/// Makes the request that the registration has due.
@c @implementation
public func reveille_reconcile(_ name: OpaquePointer?) -> Int32 {
    answer { () throws(CallFault) in try unsafe client(name).reconcile() }
}

/// The names of the distributors of this desktop, each followed by a newline.
@c @implementation
public func reveille_distributors(
    _ names: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> Int32 {
    answer { () throws(CallFault) in
        guard let names = unsafe names else { throw .argument }
        let found = try LibraryClient.distributors()
        try unsafe Reading.give(found.map { $0 + "\n" }.joined(), to: names)
    }
}

/// Has a distributor wake the client.
@c @implementation
public func reveille_use_distributor(
    _ name: OpaquePointer?, _ app: UnsafePointer<CChar>?, _ distributor: UnsafePointer<CChar>?,
    _ vapidKey: UnsafePointer<CChar>?
) -> Int32 {
    answer { () throws(CallFault) in
        let client = try unsafe client(name)
        let app = try unsafe Reading.text(app)
        let distributor = try unsafe Reading.text(distributor)
        try client.use(
            distributor, as: app, vapidKey: try unsafe Reading.optionalText(vapidKey))
    }
}

// MARK: Ways out

/// Begins the feed again.
@c @implementation
public func reveille_start_over(_ name: OpaquePointer?) -> Int32 {
    answer { () throws(CallFault) in
        let client = try unsafe client(name)
        try client.refuseInCallback()
        try client.wait { client throws(ClientError) in try await client.startOver() }
    }
}

/// Erases everything but the secrets.
@c @implementation
public func reveille_erase(_ name: OpaquePointer?, _ force: Int32) -> Int32 {
    answer { () throws(CallFault) in
        let client = try unsafe client(name)
        try client.refuseInCallback()
        try client.wait { client throws(ClientError) in
            try await client.erase(force: force != 0)
        }
    }
}
