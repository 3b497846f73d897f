// The part of Apple's BackgroundTasks that the app names, so that it is compiled without.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
public import Dispatch
public import Foundation

open class BGTask: NSObject {
    open var expirationHandler: (() -> Void)?
    open func setTaskCompleted(success: Bool) {}
}

public final class BGAppRefreshTask: BGTask {}

open class BGTaskRequest: NSObject {
    public let identifier: String
    open var earliestBeginDate: Date?

    init(named identifier: String) { self.identifier = identifier }
}

public final class BGAppRefreshTaskRequest: BGTaskRequest {
    public init(identifier: String) { super.init(named: identifier) }
}

public final class BGTaskScheduler: NSObject, Sendable {
    public static let shared = BGTaskScheduler()

    @discardableResult
    public func register(
        forTaskWithIdentifier identifier: String, using queue: DispatchQueue?,
        launchHandler: @escaping (BGTask) -> Void
    ) -> Bool { true }

    public func submit(_ taskRequest: BGTaskRequest) throws {}
}
