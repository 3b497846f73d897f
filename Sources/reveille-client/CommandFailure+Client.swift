import WakeClient
import WakeCommand

extension CommandFailure {
    /// The one place where the library's failures become messages and exit statuses.
    init(_ error: ClientError) {
        self.init(Self.message(error), hint: Self.hint(error), status: Self.status(error))
    }

    static func status(_ error: ClientError) -> ExitStatus {
        switch error {
        case .network, .tls, .truncated, .rollback, .cancelled, .locked: .transient
        case .httpStatus: error.isTransient ? .transient : .badData
        case .tooLarge, .badSignature, .wrongFeed, .fork, .corruptBatch, .protocolViolation:
            .badData
        case .source: error.isTransient ? .transient : .badData
        // Who may read the files is for the user to put right, as what stands in them is.
        case .state(.exposed): .configuration
        case .state, .diskFull, .secrets: .ioError
        case .configuration, .notServed: .configuration
        case .notRegistered, .stillRegistered: .failure
        }
    }

    static func message(_ error: ClientError) -> String {
        switch error {
        case .network: "the server cannot be reached"
        case .tls: "the server's certificate cannot be verified"
        case .httpStatus(let status, _): "the server answered \(status)"
        case .truncated: "the answer broke off; it is continued next time"
        case .tooLarge: "the answer is larger than any feed's"
        case .badSignature: "what came is not signed with this feed's key"
        case .wrongFeed: "what came belongs to another feed"
        case .rollback: "the feed is older than one seen before"
        case .fork: "this feed shows different people different things"
        case .corruptBatch: "a batch is damaged, also when fetched afresh"
        case .state(let fault): state(fault)
        case .locked: "another process works with this profile"
        case .diskFull: "there is no room for the state"
        case .configuration(let fault): configuration(fault)
        case .protocolViolation: "the server does not follow the protocol"
        case .notRegistered: "nothing is registered"
        case .notServed: "the service sends nothing to such a push token"
        case .stillRegistered: "the service may still hold a registration"
        case .secrets: "the secrets cannot be read"
        case .source: "the app's own source failed"
        case .cancelled: "interrupted"
        }
    }

    private static func state(_ fault: ClientError.StateFault) -> String {
        switch fault {
        case .newerVersion: "the state was written by a newer version of this program"
        case .exposed: "the state directory or a file in it is open to others"
        case .unusable: "the state cannot be read or written"
        }
    }

    private static func configuration(_ fault: ClientError.ConfigurationFault) -> String {
        switch fault {
        case .feedURL: "the feed must be an https URL (http on loopback and onion services)"
        case .serviceURL: "the service must be an https URL (http on loopback and onion services)"
        case .feedKey: "the key must be an Ed25519 public key as 43 characters of base64url"
        case .serviceMissing: "this needs a service"
        case .otherFeed: "this profile belongs to another feed"
        case .dailyByteBudget: "a day's budget is 262144 bytes at least"
        case .cacheCapacity: "the cache's size is a number of megabytes"
        case .proxy: "the proxy cannot be used, or an onion service needs one"
        case .libraryMissing(let package): "a library of the package \(package) cannot be loaded"
        }
    }

    static func hint(_ error: ClientError) -> String? {
        switch error {
        case .badSignature, .tooLarge:
            "a captive portal's page looks like this; try again elsewhere"
        case .fork: "compare fingerprints with others; evidence is in the state directory"
        case .state(.exposed): "chmod 700 the directory, chmod 600 the files, no symbolic links"
        case .configuration(.serviceMissing): "init --service URL names one"
        case .configuration(.libraryMissing(let package)): "apt-get install \(package)"
        case .notServed:
            "its operator has not configured this push service, or not this endpoint's host; "
                + "until then `reveille-client run` is woken by the event stream"
        case .stillRegistered: "reveille-client unregister, or forget --force"
        default: nil
        }
    }

    init(_ fault: SecretDirectory.Fault) {
        let message =
            switch fault {
            case .name: "a name is 1 to 64 letters, digits, dots, hyphens and underscores"
            case .size: "a secret has 16 to 1024 bytes"
            case .exists: "there is a secret of this name already"
            case .same(let name): "this is the same secret as \(name), and would be told as one"
            case .missing: "there is no secret of this name"
            case .unusable: "the secrets cannot be read or written"
            }
        self.init(message, status: fault == .unusable ? .ioError : .failure)
    }
}
