/// What of ours may be called: the methods of one interface at one path. Calls of anything else are
/// answered with an error before anybody sees them.
package struct BusObject: Sendable {
    package struct Method: Sendable {
        package let name: String
        /// The types it takes: a call with others is answered with an error.
        package let arguments: BusSignature
        /// The types it answers with, for those who ask what there is.
        package let results: BusSignature

        package init(_ name: String, _ arguments: BusSignature, results: BusSignature = .empty) {
            precondition(BusGrammar.isMember(Array(name.utf8)), "no name of a method")
            self.name = name
            self.arguments = arguments
            self.results = results
        }
    }

    package let path: String
    package let interface: String
    package let methods: [Method]

    package init(path: String, interface: String, methods: [Method]) {
        precondition(BusGrammar.isObjectPath(Array(path.utf8)), "no path")
        precondition(BusGrammar.isInterface(Array(interface.utf8)), "no name of an interface")
        self.path = path
        self.interface = interface
        self.methods = methods
    }
}
