/*
 * The dissector: what it knows of opens, sessions, servers and trees, and what it takes from the
 * bodies of messages.
 */
#include "dissect_world.h"

/* ---- opens ---- */

static void related_elements_are_on_the_open_of_their_create(void **state)
{
    struct world *w = world_new(NULL);
    put_create(request(w, SMB2_CREATE, 1), (struct rd)BYTES(u"lib\\sub"));
    put_list(related(w, SMB2_QUERY_DIRECTORY, 2), WIRE_FILE_ID_RELATED);
    put_close(related(w, SMB2_CLOSE, 3), WIRE_FILE_ID_RELATED);
    deliver(w, 0, TO_SERVER);
    put_created(response(w, SMB2_CREATE, 1, STATUS_SUCCESS), FID(5), FILE_ATTRIBUTE_DIRECTORY);
    put_listing(response(w, SMB2_QUERY_DIRECTORY, 2, STATUS_SUCCESS));
    put_closed(response(w, SMB2_CLOSE, 3, STATUS_SUCCESS));
    deliver(w, 0, FROM_SERVER);

    assert_int_equal(w->exchange_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(w->exchanges[i].open_id, 1);
        assert_string_equal(w->exchanges[i].path, "lib/sub");
        assert_true(w->exchanges[i].open.is_directory);
    }
    const struct kept *list = &w->exchanges[1];
    assert_string_equal(list->pattern, "*");
    assert_int_equal(list->x.info_class, FILE_ID_BOTH_DIRECTORY_INFORMATION);
    assert_int_equal(list->x.output_length, 65536);
    assert_int_equal(list->entries, 3);
    assert_int_equal(list->x.payload, list->x.listing.len);
    assert_int_equal(w->closed_count, 1);
    world_free(w);
}

static void responses_may_come_one_by_one_and_in_any_order(void **state)
{
    struct world *w = world_new(NULL);
    put_create(request(w, SMB2_CREATE, 1), (struct rd)BYTES(u"a"));
    put_list(related(w, SMB2_QUERY_DIRECTORY, 2), WIRE_FILE_ID_RELATED);
    put_list(related(w, SMB2_QUERY_DIRECTORY, 3), WIRE_FILE_ID_RELATED);
    deliver(w, 0, TO_SERVER);
    put_created(response(w, SMB2_CREATE, 1, STATUS_SUCCESS), FID(5), FILE_ATTRIBUTE_DIRECTORY);
    deliver(w, 0, FROM_SERVER);
    response(w, SMB2_QUERY_DIRECTORY, 3, (uint32_t)STATUS_NO_MORE_FILES);
    deliver(w, 0, FROM_SERVER);
    put_listing(response(w, SMB2_QUERY_DIRECTORY, 2, STATUS_SUCCESS));
    deliver(w, 0, FROM_SERVER);
    assert_int_equal(w->exchange_count, 3);
    assert_int_equal(w->exchanges[1].x.status, (uint32_t)STATUS_NO_MORE_FILES);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(w->exchanges[i].open_id, 1);
    assert_string_equal(close_file(w, 0, 4, FID(5))->path, "a");
    world_free(w);
}

static void two_listings_in_a_frame_of_their_own_are_on_the_first_ones_open(void **state)
{
    struct world *w = world_new(NULL);
    open_file(w, 0, 1, (struct rd)BYTES(u"dir"), FID(5));
    put_list(request(w, SMB2_QUERY_DIRECTORY, 2), FID(5));
    put_list(related(w, SMB2_QUERY_DIRECTORY, 3), WIRE_FILE_ID_RELATED);
    deliver(w, 0, TO_SERVER);
    dissector_finish(w->d);
    assert_int_equal(w->exchange_count, 3);
    assert_string_equal(w->exchanges[1].path, "dir");
    assert_string_equal(w->exchanges[2].path, "dir");
    world_free(w);
}

static void a_create_that_failed_leaves_no_open(void **state)
{
    struct world *w = world_new(NULL);
    put_create(request(w, SMB2_CREATE, 1), (struct rd)BYTES(u"gone"));
    put_close(related(w, SMB2_CLOSE, 2), WIRE_FILE_ID_RELATED);
    deliver(w, 0, TO_SERVER);
    response(w, SMB2_CREATE, 1, NOT_FOUND);
    response(w, SMB2_CLOSE, 2, NOT_FOUND);
    deliver(w, 0, FROM_SERVER);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(w->exchanges[i].open_id, 0);
        assert_string_equal(w->exchanges[i].path, "gone");
    }
    dissector_finish(w->d);
    assert_int_equal(w->closed_count, 0);
    world_free(w);
}

static void names_are_utf8_with_slashes_as_the_client_spelled_them(void **state)
{
    static const struct {
        struct rd name;
        const char *path;
    } cases[] = {
        {BYTES(u"Gr\u00fcn\\B\u00c4R.txt"), "Grün/BÄR.txt"},
        {BYTES(u"\\a\\\\b\\"), "/a//b/"},
        {BYTES(u"x\0y"), "x?y"},
        {{.base = (const uint8_t *)"\x3d\xd8", .len = 2}, "\xed\xa0\xbd"}, /* half a pair */
        {{0}, ""},
    };
    struct world *w = world_new(NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        open_file(w, 0, 2 * i, cases[i].name, FID(i));
        assert_string_equal(w->exchanges[w->exchange_count - 1].path, cases[i].path);
        assert_string_equal(close_file(w, 0, 2 * i + 1, FID(i))->path, cases[i].path);
    }
    world_free(w);
}

static void what_a_create_asks_and_gets_is_known_of_the_open(void **state)
{
    struct world *w = world_new(NULL);
    uint8_t buf[256];
    struct wr chain = wr_init(buf, sizeof(buf));
    sample_lease_context_encode(&chain, &sample_lease);
    struct wire_create_request m = sample_create_request;
    m.contexts = rd_init(buf, chain.pos);
    wire_create_request_encode(request(w, SMB2_CREATE, 1), &m);
    deliver(w, 0, TO_SERVER);

    uint8_t data[64];
    struct wr lease = wr_init(data, sizeof(data));
    wire_lease_encode(&lease, &(struct wire_lease){.version = 2, .state = SMB2_LEASE_READ_CACHING});
    chain = wr_init(buf, sizeof(buf));
    wire_create_context_encode(&chain, "QFid", "\x2a\0\0\0\0\0\0\0volume, and 12 more bytes", 32,
                               false);
    wire_create_context_encode(&chain, "RqLs", data, (uint32_t)lease.pos, true);
    struct wire_create_response r = sample_create_response;
    r.oplock_level = SMB2_OPLOCK_LEVEL_LEASE;
    r.contexts = rd_init(buf, chain.pos);
    wire_create_response_encode(response(w, SMB2_CREATE, 1, STATUS_SUCCESS), &r);
    deliver(w, 0, FROM_SERVER);

    const struct kept *k = &w->exchanges[0];
    assert_int_equal(k->x.desired_access, m.desired_access);
    assert_int_equal(k->x.disposition, m.disposition);
    assert_int_equal(k->x.options, m.options);
    assert_true(k->x.attr_known);
    assert_int_equal(k->x.attr.size, sample_create_response.attr.size);
    assert_int_equal(k->x.attr.id, 42);
    assert_int_equal(k->open.attr.id, 42);
    assert_int_equal(k->open.share_access, m.share_access);
    assert_int_equal(k->open.oplock_asked, 0xff);
    assert_int_equal(k->open.oplock_granted, 0xff);
    assert_true(k->open.lease_asked && k->open.lease_granted_known);
    assert_int_equal(k->open.lease_asked_state, sample_lease.state);
    assert_int_equal(k->open.lease_granted_state, SMB2_LEASE_READ_CACHING);
    assert_int_equal(k->open.opened_ns, k->x.answered_ns);
    assert_false(k->open.is_directory);
    world_free(w);
}

static void a_file_id_never_seen_to_be_opened_is_an_open_without_a_path(void **state)
{
    struct world *w = world_new(NULL);
    put_list(request(w, SMB2_QUERY_DIRECTORY, 1), FID(8));
    deliver(w, 0, TO_SERVER);
    put_listing(response(w, SMB2_QUERY_DIRECTORY, 1, STATUS_SUCCESS));
    deliver(w, 0, FROM_SERVER);
    const struct kept *k = close_file(w, 0, 2, FID(8));
    assert_int_equal(w->exchanges[0].open_id, k->open_id);
    assert_int_not_equal(k->open_id, 0);
    assert_false(k->path_known);
    assert_true(k->open.is_directory);
    assert_string_equal(k->path, "(null)");
    assert_int_equal(w->closed_count, 1);

    /* So is one whose CREATE's response alone was captured. */
    put_created(response(w, SMB2_CREATE, 3, STATUS_SUCCESS), FID(9), FILE_ATTRIBUTE_DIRECTORY);
    deliver(w, 0, FROM_SERVER);
    assert_false(w->exchanges[2].x.request_seen);
    assert_true(w->exchanges[2].open.is_directory);
    assert_int_equal(close_file(w, 0, 4, FID(9))->open_id, w->exchanges[2].open_id);
    world_free(w);
}

static void all_ones_outside_a_compound_are_no_open(void **state)
{
    struct world *w = world_new(NULL);
    wire_ioctl_request_encode(request(w, SMB2_IOCTL, 1), &sample_ioctl_request);
    deliver(w, 0, TO_SERVER);
    dissector_finish(w->d);
    assert_int_equal(w->exchanges[0].open_id, 0);
    assert_int_equal(w->closed_count, 0);
    world_free(w);
}

static void a_file_id_that_comes_again_closes_the_open_before_it(void **state)
{
    struct world *w = world_new(NULL);
    open_file(w, 0, 1, (struct rd)BYTES(u"a"), FID(1));
    open_file(w, 0, 2, (struct rd)BYTES(u"b"), FID(1));
    assert_int_equal(w->closed_count, 1);
    assert_int_equal(w->closed[0], 1);
    assert_string_equal(close_file(w, 0, 3, FID(1))->path, "b");
    world_free(w);
}

static void an_open_ends_with_its_close_tree_session_or_connection(void **state)
{
    struct world *w = world_new(NULL);
    open_file(w, 0, 1, (struct rd)BYTES(u"a"), FID(1));
    response(w, SMB2_CLOSE, 99, (uint32_t)STATUS_ACCESS_DENIED);
    deliver(w, 0, FROM_SERVER);
    assert_int_equal(w->closed_count, 0);
    close_file(w, 0, 2, FID(1));
    assert_int_equal(w->closed_count, 1);

    open_file(w, 0, 3, (struct rd)BYTES(u"a"), FID(1));
    wire_empty_encode(request(w, SMB2_TREE_DISCONNECT, 4));
    deliver(w, 0, TO_SERVER);
    wire_empty_encode(response(w, SMB2_TREE_DISCONNECT, 4, STATUS_SUCCESS));
    deliver(w, 0, FROM_SERVER);
    assert_int_equal(w->closed_count, 2);

    open_file(w, 0, 5, (struct rd)BYTES(u"a"), FID(1));
    wire_empty_encode(request(w, SMB2_LOGOFF, 6));
    deliver(w, 0, TO_SERVER);
    wire_empty_encode(response(w, SMB2_LOGOFF, 6, STATUS_SUCCESS));
    deliver(w, 0, FROM_SERVER);
    assert_int_equal(w->closed_count, 3);

    open_file(w, 0, 7, (struct rd)BYTES(u"a"), FID(1));
    dissector_flow_closed(w->d, &w->flows[0]);
    assert_int_equal(w->closed_count, 4);

    open_file(w, 1, 8, (struct rd)BYTES(u"a"), FID(1));
    dissector_finish(w->d);
    assert_int_equal(w->closed_count, 5);
    world_free(w);
}

static void opens_are_bounded_and_the_least_recently_used_goes(void **state)
{
    struct world *w = world_new(NULL);
    for (uint64_t i = 0; i < 65536 + 10; i++) {
        open_file(w, 0, i, (struct rd)BYTES(u"x"), FID(i));
        w->exchange_count = 0;
        if (i % 1000 == 999) { /* the first one is used now and then */
            wire_flush_request_encode(request(w, SMB2_FLUSH, UINT32_MAX),
                                      &(struct wire_flush_request){.file_id = FID(0)});
            deliver(w, 0, TO_SERVER);
            wire_empty_encode(response(w, SMB2_FLUSH, UINT32_MAX, STATUS_SUCCESS));
            deliver(w, 0, FROM_SERVER);
        }
    }
    assert_int_equal(w->closed_count, 10);
    assert_int_equal(w->closed[0], 2);
    assert_int_equal(counts(w).open_bound_reached, 10);
    w->exchange_count = 0;
    assert_string_equal(close_file(w, 0, 1 << 20, FID(0))->path, "x");
    assert_string_equal(close_file(w, 0, 1 << 21, FID(1))->path, "(null)");
    world_free(w);
}

/* ---- sessions, servers, trees ---- */

static void a_session_is_one_on_all_its_connections(void **state)
{
    struct world *w = world_new(NULL);
    open_file(w, 0, 1, (struct rd)BYTES(u"a"), FID(1));
    wire_flush_request_encode(request(w, SMB2_FLUSH, 1), &(struct wire_flush_request){FID(1)});
    deliver(w, 1, TO_SERVER);
    dissector_flow_closed(w->d, &w->flows[0]); /* the other one is still there */
    assert_int_equal(w->closed_count, 0);
    assert_string_equal(close_file(w, 1, 2, FID(1))->path, "a");
    world_free(w);
}

static void servers_do_not_share_sessions(void **state)
{
    struct world *w = world_new(NULL);
    open_file(w, 0, 1, (struct rd)BYTES(u"a"), FID(1));
    open_file(w, 2, 1, (struct rd)BYTES(u"b"), FID(1));
    assert_string_equal(close_file(w, 0, 2, FID(1))->path, "a");
    assert_string_equal(close_file(w, 2, 2, FID(1))->path, "b");
    world_free(w);
}

static void negotiate(struct world *w, size_t flow, const char guid[16])
{
    struct wire_negotiate_response m = sample_negotiate_response;
    memcpy(m.server_guid, guid, 16);
    wire_negotiate_request_encode(request(w, SMB2_NEGOTIATE, 0), &sample_negotiate_request);
    deliver(w, flow, TO_SERVER);
    wire_negotiate_response_encode(response(w, SMB2_NEGOTIATE, 0, STATUS_SUCCESS), &m);
    deliver(w, flow, FROM_SERVER);
}

static void a_server_is_known_at_its_other_address_by_its_guid(void **state)
{
    struct world *w = world_new(NULL);
    negotiate(w, 0, "the same server.");
    negotiate(w, 2, "the same server.");
    negotiate(w, 3, "another server..");
    open_file(w, 0, 1, (struct rd)BYTES(u"a"), FID(1));
    assert_string_equal(close_file(w, 3, 2, FID(1))->path, "(null)");
    assert_string_equal(close_file(w, 2, 2, FID(1))->path, "a");
    world_free(w);
}

static void connect_tree(struct world *w, uint64_t id, struct rd path, uint32_t tree_id)
{
    wire_tree_connect_request_encode(request(w, SMB2_TREE_CONNECT, id),
                                     &(struct wire_tree_connect_request){.path = path});
    deliver(w, 0, TO_SERVER);
    wire_tree_connect_response_encode(
        element(w, &(struct wire_header){.command = SMB2_TREE_CONNECT,
                                         .message_id = id,
                                         .flags = SMB2_FLAGS_SERVER_TO_REDIR,
                                         .session_id = SESSION,
                                         .tree_id = tree_id}),
        &(struct wire_tree_connect_response){.share_type = SMB2_SHARE_TYPE_DISK});
    deliver(w, 0, FROM_SERVER);
}

static void a_share_has_its_name_its_server_and_its_client(void **state)
{
    struct world *w = world_new(NULL);
    connect_tree(w, 1, (struct rd)BYTES(u"\\\\server\\share"), TREE);
    connect_tree(w, 2, (struct rd)BYTES(u"\\\\server\\other"), TREE + 1);
    open_file(w, 0, 3, (struct rd)BYTES(u"a"), FID(1));
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(w->exchanges[i].share,
                            i == 1 ? "\\\\server\\other" : "\\\\server\\share");
        assert_string_equal(w->exchanges[i].server, "10.0.0.200:445");
        assert_string_equal(w->exchanges[i].client, "10.0.0.1");
    }
    assert_ptr_equal(w->exchanges[2].open.share, w->exchanges[2].x.share);

    /* Connected again under another id it is the same share. */
    connect_tree(w, 4, (struct rd)BYTES(u"\\\\server\\share"), TREE + 2);
    assert_ptr_equal(w->exchanges[3].x.share, w->exchanges[0].x.share);
    world_free(w);
}

static void a_tree_not_seen_to_be_connected_has_a_share_without_a_name(void **state)
{
    struct world *w = world_new(NULL);
    open_file(w, 0, 1, (struct rd)BYTES(u"a"), FID(1));
    assert_string_equal(w->exchanges[0].share, "");
    assert_ptr_equal(close_file(w, 0, 2, FID(1))->x.share, w->exchanges[0].x.share);
    world_free(w);
}

static void a_connections_facts_are_those_of_its_negotiation(void **state)
{
    struct world *w = world_new(NULL);
    struct flow_facts f;
    dissect_flow_facts(&w->flows[0], &f);
    assert_int_equal(f.dialect, 0);
    negotiate(w, 0, "server's guid...");
    wire_empty_encode(element(
        w,
        &(struct wire_header){.command = SMB2_ECHO, .message_id = 5, .flags = SMB2_FLAGS_SIGNED}));
    deliver(w, 0, TO_SERVER);
    dissect_flow_facts(&w->flows[0], &f);
    assert_int_equal(f.dialect, SMB2_DIALECT_311);
    assert_int_equal(f.client_capabilities, sample_negotiate_request.capabilities);
    assert_int_equal(f.server_capabilities, sample_negotiate_response.capabilities);
    assert_int_equal(f.cipher, SMB2_CIPHER_AES256_GCM);
    assert_int_equal(f.max_transact, sample_negotiate_response.max_transact);
    assert_int_equal(f.max_read, sample_negotiate_response.max_read);
    assert_true(f.signing_required && f.signed_seen);
    assert_false(f.encrypted_seen);
    world_free(w);
}

/* ---- breaks, and what else bodies say ---- */

static void notify(struct world *w)
{
    element(w, &(struct wire_header){.command = SMB2_OPLOCK_BREAK,
                                     .message_id = UINT64_MAX,
                                     .flags = SMB2_FLAGS_SERVER_TO_REDIR,
                                     .session_id = SESSION});
}

static void a_break_is_a_message_that_nobody_asked_for(void **state)
{
    struct world *w = world_new(NULL);
    notify(w);
    wire_lease_break_encode(&w->w, &sample_lease_break);
    deliver(w, 0, FROM_SERVER);
    assert_true(w->messages[0].response && w->messages[0].unsolicited);
    assert_int_equal(w->exchange_count, 0);
    assert_int_equal(counts(w).unmatched_responses, 0);
    assert_int_equal(w->break_count, 1);
    assert_true(w->breaks[0].lease);
    assert_int_equal(w->breaks[0].from_state, sample_lease_break.current_state);
    assert_int_equal(w->breaks[0].to_state, sample_lease_break.new_state);

    /* Its acknowledgment is a request like others. */
    wire_lease_ack_encode(request(w, SMB2_OPLOCK_BREAK, 5), &sample_lease_ack);
    deliver(w, 0, TO_SERVER);
    wire_lease_ack_encode(response(w, SMB2_OPLOCK_BREAK, 5, STATUS_SUCCESS), &sample_lease_ack);
    deliver(w, 0, FROM_SERVER);
    assert_int_equal(w->exchange_count, 1);
    assert_false(w->messages[2].unsolicited);
    world_free(w);
}

static void an_oplock_break_lowers_what_the_open_has(void **state)
{
    struct world *w = world_new(NULL);
    put_create(request(w, SMB2_CREATE, 1), (struct rd)BYTES(u"a"));
    deliver(w, 0, TO_SERVER);
    wire_create_response_encode(
        response(w, SMB2_CREATE, 1, STATUS_SUCCESS),
        &(struct wire_create_response){.oplock_level = SMB2_OPLOCK_LEVEL_BATCH, .file_id = FID(1)});
    deliver(w, 0, FROM_SERVER);
    notify(w);
    wire_oplock_break_encode(&w->w, &(struct wire_oplock_break){SMB2_OPLOCK_LEVEL_II, FID(1)});
    deliver(w, 0, FROM_SERVER);
    assert_false(w->breaks[0].lease);
    assert_int_equal(w->breaks[0].from_state, SMB2_OPLOCK_LEVEL_BATCH);
    assert_int_equal(w->breaks[0].to_state, SMB2_OPLOCK_LEVEL_II);
    assert_int_equal(close_file(w, 0, 2, FID(1))->open.oplock_granted, SMB2_OPLOCK_LEVEL_II);
    world_free(w);
}

static void a_rename_tells_the_new_path(void **state)
{
    struct world *w = world_new(NULL);
    uint8_t buf[64];
    struct wr data = wr_init(buf, sizeof(buf));
    open_file(w, 0, 1, (struct rd)BYTES(u"old"), FID(1));
    wire_rename_encode(&data, &sample_rename);
    struct wire_set_info_request m = sample_set_info_request;
    m.file_id = FID(1);
    m.data = rd_init(buf, data.pos);
    wire_set_info_request_encode(request(w, SMB2_SET_INFO, 2), &m);
    deliver(w, 0, TO_SERVER);
    wire_set_info_response_encode(response(w, SMB2_SET_INFO, 2, STATUS_SUCCESS));
    deliver(w, 0, FROM_SERVER);
    assert_string_equal(w->exchanges[1].path, "old");
    assert_string_equal(w->exchanges[1].pattern, "lib/other.py");
    assert_int_equal(w->exchanges[1].x.info_type, SMB2_0_INFO_FILE);
    assert_int_equal(w->exchanges[1].x.info_class, FILE_RENAME_INFORMATION);
    world_free(w);
}

static void ask_info(struct world *w, uint64_t id, uint8_t info_class,
                     void (*encode)(struct wr *output))
{
    uint8_t buf[256];
    struct wr output = wr_init(buf, sizeof(buf));
    struct wire_query_info_request m = sample_query_info_request;
    m.info_class = info_class;
    wire_query_info_request_encode(request(w, SMB2_QUERY_INFO, id), &m);
    deliver(w, 0, TO_SERVER);
    encode(&output);
    wire_buffer_response_encode(response(w, SMB2_QUERY_INFO, id, STATUS_SUCCESS), buf,
                                (uint32_t)output.pos);
    deliver(w, 0, FROM_SERVER);
}

static void put_all(struct wr *output)
{
    wire_all_information_encode(output, &sample_attr, &sample_path);
}

static void put_network_open(struct wr *output)
{
    wire_network_open_information_encode(output, &sample_attr);
}

static void attributes_come_from_the_classes_that_have_all_of_them(void **state)
{
    struct world *w = world_new(NULL);
    ask_info(w, 1, FILE_ALL_INFORMATION, put_all);
    ask_info(w, 2, FILE_NETWORK_OPEN_INFORMATION, put_network_open);
    ask_info(w, 3, FILE_BASIC_INFORMATION, put_all);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(w->exchanges[i].x.attr_known, i < 2);
        assert_int_equal(w->exchanges[i].x.attr.size, i < 2 ? sample_attr.size : 0);
        assert_int_equal(w->exchanges[i].x.flags, sample_query_info_request.flags);
    }
    assert_int_equal(w->exchanges[0].x.attr.id, sample_attr.id);

    wire_close_request_encode(request(w, SMB2_CLOSE, 4), &sample_close_request);
    deliver(w, 0, TO_SERVER);
    wire_close_response_encode(response(w, SMB2_CLOSE, 4, STATUS_SUCCESS), &sample_close_response);
    deliver(w, 0, FROM_SERVER);
    assert_true(w->exchanges[3].x.attr_known);
    assert_int_equal(w->exchanges[3].x.attr.size, sample_close_response.attr.size);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(related_elements_are_on_the_open_of_their_create),
        cmocka_unit_test(responses_may_come_one_by_one_and_in_any_order),
        cmocka_unit_test(two_listings_in_a_frame_of_their_own_are_on_the_first_ones_open),
        cmocka_unit_test(a_create_that_failed_leaves_no_open),
        cmocka_unit_test(names_are_utf8_with_slashes_as_the_client_spelled_them),
        cmocka_unit_test(what_a_create_asks_and_gets_is_known_of_the_open),
        cmocka_unit_test(a_file_id_never_seen_to_be_opened_is_an_open_without_a_path),
        cmocka_unit_test(all_ones_outside_a_compound_are_no_open),
        cmocka_unit_test(a_file_id_that_comes_again_closes_the_open_before_it),
        cmocka_unit_test(an_open_ends_with_its_close_tree_session_or_connection),
        cmocka_unit_test(opens_are_bounded_and_the_least_recently_used_goes),
        cmocka_unit_test(a_session_is_one_on_all_its_connections),
        cmocka_unit_test(servers_do_not_share_sessions),
        cmocka_unit_test(a_server_is_known_at_its_other_address_by_its_guid),
        cmocka_unit_test(a_share_has_its_name_its_server_and_its_client),
        cmocka_unit_test(a_tree_not_seen_to_be_connected_has_a_share_without_a_name),
        cmocka_unit_test(a_connections_facts_are_those_of_its_negotiation),
        cmocka_unit_test(a_break_is_a_message_that_nobody_asked_for),
        cmocka_unit_test(an_oplock_break_lowers_what_the_open_has),
        cmocka_unit_test(a_rename_tells_the_new_path),
        cmocka_unit_test(attributes_come_from_the_classes_that_have_all_of_them),
    };
    return cmocka_run_group_tests_name("dissect_opens", tests, NULL, NULL);
}
