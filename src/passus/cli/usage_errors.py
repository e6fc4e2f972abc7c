"""Errors in a command line, in the form of all other errors: what was given, what was expected, what to write instead."""

from typing import Literal, get_args, get_origin

from cyclopts import (
    App,
    Argument,
    ArgumentCollection,
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    Token,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)

from passus.errors import UsageError, nearest, shown


def usage_error(error: CycloptsError) -> UsageError:
    """Returns the error to show for a command line that was not understood."""
    chain = [part for part in error.command_chain or () if not part.startswith("-")]
    command = " ".join(["passus", *chain])
    match error:
        case UnknownCommandError(app=App() as app, unused_tokens=[str(given), *_]):
            return _unknown_command(given, app, command)
        case UnusedCliTokensError(app=App() as app, unused_tokens=[str(given), *_]) if _commands(app):
            return _unknown_command(given, app, command)
        case UnusedCliTokensError(unused_tokens=[str(given), *_]):
            return UsageError(f"{command}: {shown(given)} is one argument too many", expected=f"`{command} --help` lists them")
        case UnknownOptionError():
            return _unknown_option(error.token.keyword or error.token.value, error.argument_collection, command)
        case MissingArgumentError() if misspelt := _misspelt(error):
            return UsageError(f"{command} has no option {shown(misspelt[0])}", write=misspelt[1])
        case MissingArgumentError(argument=Argument() as argument):
            return _missing(argument, error.keyword, error.app, command)
        case CoercionError(token=Token() as token, argument=Argument() as argument):
            return _not_a_value(token.keyword or _name(argument), token.value, error.target_type, command)
    return UsageError(f"{command}: {str(error).strip()}", expected=f"`{command} --help` explains the arguments")


def _name(argument: Argument) -> str:
    """Returns the name of an argument as the help shows it: options as they are, positional ones in capitals."""
    return argument.name.lstrip("-").upper() if argument.field_info.is_positional else argument.name


def _missing(argument: Argument, keyword: str | None, app: App | None, command: str) -> UsageError:
    documented = app.assemble_argument_collection(parse_docstring=True) if app else []
    meaning = next((other.parameter.help for other in documented if other.name == argument.name), None)
    problem = f"{keyword} has no value" if keyword else f"{_name(argument)} is missing"
    return UsageError(f"{command}: {problem}", expected=meaning and " ".join(meaning.split()), write=f"{command} --help")


def _commands(app: App) -> list[str]:
    return [name for name in app if not name.startswith("-")]


def _unknown_command(given: str, app: App, command: str) -> UsageError:
    names = _commands(app)
    hint = nearest(given, list(app))
    return UsageError(
        f"{command} has no command {shown(given)}", expected=f"one of: {', '.join(names)}", write=hint and f"{command} {hint}"
    )


def _unknown_option(given: str, arguments: ArgumentCollection, command: str) -> UsageError:
    option = given.partition("=")[0]
    names = [name for argument in arguments if argument.parse for name in argument.names if name.startswith("--")]
    return UsageError(
        f"{command} has no option {shown(option)}",
        expected=f"`{command} --help` lists all options",
        write=nearest(option, names),
    )


def _misspelt(error: MissingArgumentError) -> tuple[str, str] | None:
    """Returns (given, right) where a required option is missing because its name is misspelt."""
    if error.argument is None or error.tokens_so_far:
        return None
    names = [name for name in error.argument.names if name.startswith("--")]
    options = [token.partition("=")[0] for token in error.unused_tokens or () if token.startswith("--")]
    return next(((given, hint) for given in options if given not in names and (hint := nearest(given, names))), None)


def _not_a_value(name: str, given: str, target: object, command: str) -> UsageError:
    if get_origin(target) is Literal:
        choices = [str(choice) for choice in get_args(target)]
        hint = nearest(given, choices)
        return UsageError(f"{name} {shown(given)}", expected=f"one of: {', '.join(choices)}", write=hint and f"{name} {hint}")
    kinds = {int: "a whole number", float: "a number", bool: "true or false"}
    expected = kinds.get(target) if isinstance(target, type) else None
    return UsageError(f"{name} {shown(given)}", expected=expected or f"`{command} --help` explains the value")
