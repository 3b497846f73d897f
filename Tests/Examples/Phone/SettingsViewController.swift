import Foundation
import UIKit

/// The page that an app needs: wake-ups on or off, and what the client knows about itself.
final class SettingsViewController: UIViewController {
    private let app: AppDelegate
    private let isWanted = UISwitch()
    private let status = UILabel()

    init(_ app: AppDelegate) {
        self.app = app
        super.init(nibName: nil, bundle: nil)
    }

    required init?(coder: NSCoder) { nil }

    override func viewDidLoad() {
        super.viewDidLoad()
        status.numberOfLines = 0
        isWanted.addAction(
            UIAction { [weak self] _ in self?.change() }, for: .valueChanged)
        let stack = UIStackView(arrangedSubviews: [isWanted, status])
        stack.axis = .vertical
        stack.alignment = .leading
        stack.frame = view.bounds
        stack.autoresizingMask = [.flexibleWidth, .flexibleHeight]
        view.addSubview(stack)
    }

    override func viewWillAppear(_ animated: Bool) {
        super.viewWillAppear(animated)
        isWanted.isOn = app.isWanted
        Task { status.text = await app.diagnostics() }
    }

    private func change() {
        let isOn = isWanted.isOn
        Task {
            await app.setWanted(isOn)
            status.text = await app.diagnostics()
        }
    }
}
