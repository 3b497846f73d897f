/// A UnifiedPush distributor written from the specification alone, with jeepney, that does what a
/// test tells it and keeps its registrations in a file.
enum DistributorScript {
    /// Arguments: the name's last word, the byte order, the file of registrations.
    ///
    /// `org.example.Control.Do` takes a Python literal: see `act`. What it answers is one, too.
    static let text = #"""
        import ast, json, os, sys
        from jeepney import *
        from jeepney.io.blocking import open_dbus_connection
        from jeepney.low_level import Endianness

        word, order, path = sys.argv[1:4]
        order = Endianness.big if order == "big" else Endianness.little
        known = json.load(open(path)) if os.path.exists(path) else {}
        mode = {"register": "succeed"}
        calls, waiting = [], {}
        connection = open_dbus_connection(bus=os.environ["DBUS_SESSION_BUS_ADDRESS"])

        def send(message):
            message.header.endianness = order
            serial = next(connection.outgoing_serial)
            connection.send(message, serial=serial)
            return serial

        def answer(call, signature, body):
            send(new_method_return(call, signature, body))

        def connector(service, member, signature, body):
            return send(new_method_call(
                DBusAddress("/org/unifiedpush/Connector", service, "org.unifiedpush.Connector2"),
                member, signature, body))

        def arguments(pairs):
            return ({key: value for key, value in pairs.items()},)

        def save():
            # A kill leaves the former file or this one.
            with open(path + "-new", "w") as file:
                json.dump(known, file)
            os.replace(path + "-new", path)

        def tell(token):
            connector(known[token]["service"], "NewEndpoint", "a{sv}", arguments(
                {"token": ("s", token), "endpoint": ("s", known[token]["endpoint"])}))

        def register(call):
            given = {key: value[1] for key, value in call.body[0].items()}
            calls.append(given)
            token = given["token"]
            how = mode["register"]
            if how == "succeed":
                folder = "p" if word == "python" else word
                entry = known.setdefault(token, {
                    "endpoint": "https://h0.push.example/%s/%d" % (folder, len(known) + 1)})
                entry["service"] = given["service"]
                save()
                tell(token)
                answer(call, "a{sv}", arguments({"success": ("s", "REGISTRATION_SUCCEEDED")}))
            elif how == "odd":
                answer(call, "s", ("REGISTRATION_SUCCEEDED",))
            else:
                answer(call, "a{sv}", arguments(
                    {"success": ("s", "REGISTRATION_FAILED"), "reason": ("s", how)}))
            print("registered", flush=True)

        # What a test may tell; `token` is the registered one unless another is given.
        def act(call, order):
            token = order.get("token", next(iter(known), ""))
            service = order.get("service", next(iter(known.values()), {}).get("service"))
            do = order["do"]
            if do == "calls":
                return answer(call, "s", (repr(calls),))
            if do == "mode":
                mode["register"] = order["register"]
                return answer(call, "s", ("[]",))
            serials = []
            for number in range(order.get("count", 1)):
                if do == "message":
                    fields = {"token": ("s", token), "message": ("ay", b"x" * order["size"])}
                    if "id" in order:
                        fields["id"] = ("s", order["id"])
                    serials.append(connector(service, "Message", "a{sv}", (fields,)))
                elif do == "endpoint":
                    if token in known:
                        known[token]["endpoint"] = order["endpoint"]
                        save()
                    serials.append(connector(service, "NewEndpoint", "a{sv}", arguments(
                        {"token": ("s", token), "endpoint": ("s", order["endpoint"])})))
                elif do == "unregistered":
                    serials.append(connector(
                        service, "Unregistered", "a{sv}", arguments({"token": ("s", token)})))
                elif do == "raw":
                    serials.append(connector(
                        service, order["member"], order["signature"], order["body"]))
            work = {"call": call, "left": set(serials), "said": []}
            for serial in serials:
                waiting[serial] = work

        def replied(message):
            fields = message.header.fields
            work = waiting.pop(fields[HeaderFields.reply_serial], None)
            if work is None:
                return
            if message.header.message_type == MessageType.error:
                said = fields[HeaderFields.error_name]
            else:
                said = {key: value[1] for key, value in message.body[0].items()}
            work["said"].append(said)
            work["left"].discard(fields[HeaderFields.reply_serial])
            if not work["left"]:
                answer(work["call"], "s", (repr(work["said"]),))

        bus = DBusAddress("/org/freedesktop/DBus", "org.freedesktop.DBus", "org.freedesktop.DBus")
        # Not waited for: a message that had the bus start us comes before the answer. The name of
        # one that was killed is free when the bus has noticed.
        name = "org.unifiedpush.Distributor." + word
        send(new_method_call(bus, "RequestName", "su", (name, 0)))
        while True:
            message = connection.receive()
            fields = message.header.fields
            if message.header.message_type == MessageType.signal:
                if fields[HeaderFields.member] == "NameAcquired" and message.body == (name,):
                    print("ready", connection.unique_name, flush=True)
            elif message.header.message_type in (MessageType.method_return, MessageType.error):
                replied(message)
            elif message.header.message_type == MessageType.method_call:
                member = fields[HeaderFields.member]
                if member == "Register":
                    register(message)
                elif member == "Unregister":
                    token = message.body[0]["token"][1]
                    service = known.pop(token)["service"]
                    save()
                    answer(message, "a{sv}", ({},))
                    connector(service, "Unregistered", "a{sv}", arguments({"token": ("s", token)}))
                    print("unregistered", flush=True)
                elif member == "Do":
                    act(message, ast.literal_eval(message.body[0]))
        """#
}
