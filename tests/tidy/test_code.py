"""The tree keeps its shape: sizes, who may import what, names."""

from tidy import rules, tree

# Functions between 50 and 70 lines, as "path::name": why splitting would make them harder to read.
LONGER_FUNCTIONS: dict[str, str] = {}


def complaints(found: list[str]) -> str:
    return "\n" + "\n".join(found)


def over(sources, rule) -> list[str]:
    return [line for source in sources for line in rule(source)]


def test_no_file_is_longer_than_four_hundred_lines():
    found = over(tree.package(), rules.long_file)
    assert not found, complaints(found)


def test_no_function_is_longer_than_fifty_lines():
    found = over(tree.package(), lambda source: rules.long_functions(source, LONGER_FUNCTIONS))
    assert not found, complaints(found)


def test_every_longer_function_that_is_allowed_exists_and_is_explained():
    names = {f"{source.path}::{node.name}" for source in tree.package() for node in _functions(source)}
    found = [name for name, why in LONGER_FUNCTIONS.items() if name not in names or len(why.split()) < 5]
    assert not found, complaints(found)


def _functions(source):
    return [node for node in rules.ast.walk(source.tree) if isinstance(node, rules.ast.FunctionDef)]


def test_only_the_store_contains_sql():
    found = over(tree.package(), rules.sql_outside_store)
    assert not found, complaints(found)


def test_only_providers_and_notices_import_an_http_client():
    found = over(tree.package(), rules.http_outside_providers)
    assert not found, complaints(found)


def test_only_the_server_imports_the_web_framework():
    found = over(tree.package(), rules.web_outside_server)
    assert not found, complaints(found)


def test_only_the_runtime_and_surfaces_start_threads_or_take_signals():
    found = over(tree.package(), rules.threads_outside_runtime)
    assert not found, complaints(found)


def test_the_domain_imports_the_standard_library_only():
    found = over(tree.package(), rules.impure_domain)
    assert not found, complaints(found)


def test_domain_and_flows_take_time_and_chance_as_arguments():
    found = over(tree.package(), rules.own_time_or_chance)
    assert not found, complaints(found)


def test_imports_stand_at_the_top_of_their_file():
    found = over(tree.package(), rules.imports_inside_functions)
    assert not found, complaints(found)


def test_class_names_say_what_a_class_does():
    found = over([*tree.package(), *tree.tests()], rules.vague_class_names)
    assert not found, complaints(found)


def test_every_package_says_what_lives_in_it():
    found = over(tree.package(), rules.undocumented_package)
    assert not found, complaints(found)


def test_names_of_tests_are_sentences():
    found = over(tree.tests(), rules.short_test_names)
    assert not found, complaints(found)


def test_no_test_sleeps():
    found = over(tree.tests(), rules.sleeps)
    assert not found, complaints(found)


def test_every_named_statement_says_why_its_predicate_is_enough():
    found = [line for path, text in tree.statements() for line in rules.unexplained_statements(path, text)]
    assert not found, complaints(found)


def test_nothing_is_marked_as_unfinished():
    found = [line for path, text in tree.texts() for line in rules.unfinished(path, text)]
    assert not found, complaints(found)


def test_no_text_names_a_machine_path_or_a_registry_host():
    found = [line for path, text in tree.texts() for line in rules.machine_traces(path, text)]
    assert not found, complaints(found)
