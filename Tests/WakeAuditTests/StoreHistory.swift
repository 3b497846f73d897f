import TestSupport
import WakeAudit
import WakeModel
import WakeStore
import WakeSystem

/// Makes stores as the service does, by the store's own writer.
enum StoreHistory {
    /// One store for everything that is planted: 400 rows once, both files in use, pages partly
    /// empty and pages free. Nobody has it open.
    static func mixed() async throws -> StorePlace {
        try await made.value
    }

    /// Ids are random, and so is where pages have room: again until one has what plants need.
    private static let made = Task { () async throws -> StorePlace in
        for _ in 0..<20 {
            let place = try await make()
            let bytes = StorePlace.bytes(of: place.data + "/generation-1.db")
            if !AuditSite.pages(of: bytes, where: PageTests.hasGap).isEmpty { return place }
        }
        throw NoSuchPlace()
    }

    private static func make() async throws -> StorePlace {
        let place = StorePlace()
        try Store.create(configuration(place))
        try await run(
            place,
            [
                .register(0..<400), .rotate, .register(400..<600), .register(0..<90),
                .delete(100..<330), .delete(420..<500),
            ])
        return place
    }

    static func create(_ place: StorePlace) throws {
        try Store.create(configuration(place))
    }

    enum Step {
        case register(Range<Int>)
        case delete(Range<Int>)
        case rotate
    }

    static func configuration(_ place: StorePlace) -> StoreConfiguration {
        var configuration = StoreConfiguration(
            dataDirectory: place.data, keyFile: place.keys)
        configuration.reserveBytes = 1 << 16
        return configuration
    }

    /// Opens the store, does the steps, each with as much at once as there is, and closes it.
    static func run(_ place: StorePlace, _ steps: [Step]) async throws {
        let store = try Store(opening: configuration(place))
        for step in steps {
            if case .rotate = step {
                guard case .rotated = await store.rotate() else { throw NoSuchPlace() }
            }
            await withTaskGroup(of: Void.self) { group in
                switch step {
                case .rotate: break
                case .register(let numbers):
                    for number in numbers {
                        group.addTask {
                            await ask(store, .register(token(number), pushToken(number)))
                        }
                    }
                case .delete(let numbers):
                    for number in numbers {
                        group.addTask { await ask(store, .delete(token(number))) }
                    }
                }
            }
        }
        await store.close()
    }

    private static func ask(_ store: Store, _ operation: StoreOperation) async {
        await withCheckedContinuation { continuation in
            store.submit(operation) { _ in continuation.resume() }
        }
    }

    private static func token(_ number: Int) -> InstanceToken {
        let name = Array("instance \(number)".utf8)
        guard let token = InstanceToken(Blake2b.hash(name.span)) else {
            preconditionFailure("a hash looks random")
        }
        return token
    }

    /// Of every push service, and of every length.
    private static func pushToken(_ number: Int) -> PushToken {
        let service = PushService.allCases[number % 4]
        let text: String
        var keys: [UInt8] = []
        switch service {
        case .apns, .apnsSandbox:
            text = String(repeating: "0f", count: 32 + number % 69)
        case .fcm: text = "f" + String(repeating: "c", count: number % 507)
        case .webPush:
            text = "https://push.example.org/" + String(repeating: "e", count: number % 480)
            if number % 3 == 0 { keys = [0, 4] + [UInt8](repeating: 3, count: 64 + 16) }
        }
        do {
            if !keys.isEmpty {
                let bytes = Array(text.utf8.prefix(Limits.keyedEndpointBytes)) + keys
                return try PushToken(service: service, bytes: bytes)
            }
            return try PushToken(service: service, text: Array(text.utf8).span)
        } catch {
            preconditionFailure("a well-formed push token")
        }
    }
}
