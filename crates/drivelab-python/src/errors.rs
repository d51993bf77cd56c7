//! The one place where errors of the engine become Python exceptions.

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(
    drivelab._engine,
    EngineError,
    PyException,
    "A failure of the engine; `args` are the code, what happened, where, and what to do."
);

/// The exception for an error of the engine.
pub fn to_python(error: drivelab_engine::error::EngineError) -> PyErr {
    EngineError::new_err((error.code.as_str(), error.what, error.place, error.advice))
}
