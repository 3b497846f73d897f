/// What a manual page says beyond what the table of commands knows.
package struct Manual: Sendable {
    /// A heading and what stands under it.
    package struct Section: Sendable {
        let title: String
        let parts: [Part]

        package init(_ title: String, _ parts: [Part]) {
            self.title = title
            self.parts = parts
        }
    }

    /// Words between backticks are set as they are typed.
    package enum Part: Sendable {
        case text(String)
        /// A term, and what it is.
        case entry(String, String)
        /// Lines that are to be typed or read as they are.
        case code([String])
    }

    /// Of the system's manual: 1 for everybody's commands, 8 for administrators'.
    let section: Int
    /// When it was last changed, as in ISO 8601.
    let date: String
    /// Beneath SYNOPSIS.
    let description: [Part]
    /// The exit statuses that this program knows.
    let statuses: [ExitStatus]
    /// After EXIT STATUS.
    let sections: [Section]
    /// Other pages, such as `systemd.service(5)`.
    let seeAlso: [String]

    package init(
        section: Int = 1, date: String = "1970-01-01", description: [Part] = [],
        statuses: [ExitStatus] = ExitStatus.allCases, sections: [Section] = [],
        seeAlso: [String] = []
    ) {
        self.section = section
        self.date = date
        self.description = description
        self.statuses = statuses
        self.sections = sections
        self.seeAlso = seeAlso
    }
}
