// The part of Apple's UIKit that the app names, so that it is compiled where there is none.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
public import Foundation

@MainActor open class UIResponder: NSObject {
    public nonisolated override init() {}
}

public final class UIApplication: UIResponder {
    public struct LaunchOptionsKey: Hashable, Sendable {}

    public static let shared = UIApplication()
    public func registerForRemoteNotifications() {}
}

public enum UIBackgroundFetchResult: UInt, Sendable { case newData, noData, failed }

@MainActor public protocol UIApplicationDelegate: NSObjectProtocol {
    init()
    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions options: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool
    func application(
        _ application: UIApplication,
        didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data)
    func application(
        _ application: UIApplication,
        didReceiveRemoteNotification userInfo: [AnyHashable: Any],
        fetchCompletionHandler completionHandler: @escaping (UIBackgroundFetchResult) -> Void)
    func applicationDidEnterBackground(_ application: UIApplication)
}

extension UIApplicationDelegate {
    public static func main() {
        _ = Self().application(UIApplication.shared, didFinishLaunchingWithOptions: nil)
    }
}

@MainActor open class UIScreen: NSObject {
    public static let main = UIScreen()
    public let bounds = CGRect()
}

@MainActor open class UIView: UIResponder {
    public struct AutoresizingMask: OptionSet, Sendable {
        public let rawValue: UInt
        public static let flexibleWidth = AutoresizingMask(rawValue: 2)
        public static let flexibleHeight = AutoresizingMask(rawValue: 16)

        public init(rawValue: UInt) { self.rawValue = rawValue }
    }

    public var bounds = CGRect()
    public var frame: CGRect
    public var autoresizingMask: AutoresizingMask = []

    public init(frame: CGRect) { self.frame = frame }

    public func addSubview(_ view: UIView) {}
}

public final class UIWindow: UIView {
    public var rootViewController: UIViewController?
    public func makeKeyAndVisible() {}
}

@MainActor open class UIViewController: UIResponder {
    public let view: UIView = UIView(frame: CGRect())
    public init(nibName: String?, bundle: Bundle?) {}
    public required init?(coder: NSCoder) { nil }
    open func viewDidLoad() {}
    open func viewWillAppear(_ animated: Bool) {}
}

public final class UILabel: UIView {
    public var text: String?
    public var numberOfLines = 1
    public convenience init() { self.init(frame: CGRect()) }
}

public struct UIAction {
    public init(handler: @escaping @MainActor (UIAction) -> Void) {}
}

@MainActor open class UIControl: UIView {
    public struct Event: Sendable {
        public static let valueChanged = Event()
    }

    public func addAction(_ action: UIAction, for event: Event) {}
}

public final class UISwitch: UIControl {
    public var isOn = false
    public convenience init() { self.init(frame: CGRect()) }
}

public final class UIStackView: UIView {
    public enum Axis: Sendable { case vertical }
    public enum Alignment: Sendable { case leading }

    public var axis = Axis.vertical
    public var alignment = Alignment.leading
    public convenience init(arrangedSubviews views: [UIView]) { self.init(frame: CGRect()) }
}
