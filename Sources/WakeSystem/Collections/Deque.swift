/// A queue with constant cost at both ends; elements are released when they are removed.
@usableFromInline
package struct Deque<Element> {
    /// Nil where an element was removed.
    @usableFromInline var elements: [Element?] = []
    /// Elements of the front that were removed already.
    @usableFromInline var start = 0

    @inlinable package init() {}

    @inlinable package var isEmpty: Bool { start == elements.count }
    @inlinable package var count: Int { elements.count - start }
    @inlinable package var first: Element? { isEmpty ? nil : elements[start] }
    @inlinable package var contents: [Element] { elements[start...].compactMap { $0 } }

    /// - Parameter position: 0 for the first element.
    @inlinable package subscript(position: Int) -> Element {
        guard let element = elements[start + position]
        else { preconditionFailure("an element that was removed") }
        return element
    }

    @inlinable package mutating func append(_ element: Element) { elements.append(element) }

    /// Makes room for a number of elements at once, where there are none.
    @inlinable package mutating func reserveIfEmpty(_ count: Int) {
        if isEmpty { elements.reserveCapacity(count) }
    }

    @inlinable package mutating func append(contentsOf more: some Sequence<Element>) {
        for element in more { elements.append(element) }
    }

    @inlinable package mutating func prepend(_ element: Element) {
        if start > 0 {
            start -= 1
            elements[start] = element
        } else {
            elements.insert(element, at: 0)
        }
    }

    @inlinable package mutating func popFirst() -> Element? {
        guard start < elements.count else { return nil }
        let first = elements[start].take()
        start += 1
        if start == elements.count {
            elements.removeAll(keepingCapacity: elements.capacity <= 256)
            start = 0
        } else if start >= 64, start * 2 >= elements.count {
            elements.removeFirst(start)
            start = 0
        }
        return first
    }

    /// Keeps the elements that satisfy `isKept`, in order.
    @inlinable package mutating func filter(_ isKept: (Element) -> Bool) {
        elements = elements[start...].filter { $0.map(isKept) == true }
        start = 0
    }

    @inlinable package mutating func removeAll() { self = Deque() }
}

extension Deque: Sendable where Element: Sendable {}
