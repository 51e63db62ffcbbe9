//! The matrix: a sum of outer products of sparse random vectors whose weights fall from 1 to [`SMALLEST`]
//! geometrically, plus a multiple of the unit matrix (RNR-94-007, section 2.2.3).

use std::ops::Range;

use crate::npb::random::Random;

const SEED: u64 = 314_159_265;
/// The weight of the last outer product, and what is added to the diagonal: no eigenvalue is smaller.
const SMALLEST: f64 = 0.1;
/// The value of a vector at its own place.
const OWN: f64 = 0.5;
/// Columns in a [`Block`]: what 16 bits can count.
const WIDTH: usize = 1 << 16;

/// The recipe of a matrix.
#[derive(Debug, Clone, Copy)]
pub struct Recipe {
    /// Rows, and columns.
    pub order: usize,
    /// Elements that are drawn for a vector.
    pub nonzeros: usize,
    /// The number that is taken off the diagonal.
    pub shift: f64,
}

/// A part of the matrix.
pub struct Matrix {
    blocks: Vec<Block>,
}

/// [`WIDTH`] columns of a part, or fewer, row by row.
///
/// An index of 16 bits takes half the memory of a larger one, and is never outside of [`WIDTH`] elements.
#[derive(Default)]
struct Block {
    /// The places where each row begins, and where the last one ends.
    bounds: Vec<u32>,
    columns: Vec<u16>,
    values: Vec<f64>,
}

impl Matrix {
    /// The part of these rows and columns.
    pub fn new(recipe: &Recipe, rows: Range<usize>, columns: Range<usize>) -> Matrix {
        let vectors = Vectors::draw(recipe, &rows, &columns);
        let mut matrix = Matrix::empty(columns.len());
        // A row is summed up where all its elements have their place. All terms but the shift are positive: an
        // element that is 0 has none yet.
        let mut sums = vec![0.0; columns.len()];
        let mut met = Vec::new();
        for (row, reaching) in rows.zip(&vectors.reaching) {
            for &(vector, weight) in reaching {
                for &(column, value) in vectors.part(vector) {
                    let (column, sum) = (column as usize, &mut sums[column as usize]);
                    if *sum == 0.0 {
                        met.push(column);
                    }
                    *sum += weight * value;
                }
            }
            if columns.contains(&row) {
                sums[row - columns.start] += SMALLEST - recipe.shift;
            }
            met.sort_unstable();
            for column in met.drain(..) {
                matrix.push(column, std::mem::take(&mut sums[column]));
            }
            matrix.end_row();
        }
        matrix.shrink();
        matrix
    }

    /// A vector of zeros that this part can be multiplied with: as long as its columns are many, and somewhat longer.
    pub fn operand(&self) -> Vec<f64> {
        vec![0.0; self.blocks.len() * WIDTH]
    }

    /// The product of this part with an operand: an element a row.
    pub fn multiply(&self, operand: &[f64], product: &mut [f64]) {
        product.fill(0.0);
        for (block, operand) in self.blocks.iter().zip(operand.as_chunks().0) {
            for (sum, bounds) in product.iter_mut().zip(block.bounds.windows(2)) {
                let row = bounds[0] as usize..bounds[1] as usize;
                *sum += row_product(&block.columns[row.clone()], &block.values[row], operand);
            }
        }
    }

    fn empty(columns: usize) -> Matrix {
        let block = || Block {
            bounds: vec![0],
            ..Block::default()
        };
        Matrix {
            blocks: (0..columns.div_ceil(WIDTH)).map(|_| block()).collect(),
        }
    }

    fn push(&mut self, column: usize, value: f64) {
        let block = &mut self.blocks[column / WIDTH];
        block.columns.push((column % WIDTH) as u16);
        block.values.push(value);
    }

    fn end_row(&mut self) {
        for block in &mut self.blocks {
            block.bounds.push(block.values.len() as u32);
        }
    }

    fn shrink(&mut self) {
        for block in &mut self.blocks {
            block.columns.shrink_to_fit();
            block.values.shrink_to_fit();
        }
    }
}

/// A row times an operand.
fn row_product(columns: &[u16], values: &[f64], operand: &[f64; WIDTH]) -> f64 {
    const LANES: usize = 4;
    let (columns, columns_rest) = columns.as_chunks::<LANES>();
    let (values, values_rest) = values.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (columns, values) in columns.iter().zip(values) {
        for lane in 0..LANES {
            sums[lane] += values[lane] * operand[usize::from(columns[lane])];
        }
    }
    let rest = columns_rest.iter().zip(values_rest);
    let rest: f64 = rest
        .map(|(&column, value)| value * operand[usize::from(column)])
        .sum();
    sums.iter().sum::<f64>() + rest
}

/// Elements of something sparse: place and value.
type Sparse = Vec<(u32, f64)>;

/// The parts of the random vectors, one for each row, that a part of the matrix is made of.
struct Vectors {
    /// The elements in its columns, counted from the first of them: one vector's behind the other's.
    elements: Sparse,
    /// The places where those of each vector begin, and where the last one's end.
    bounds: Vec<u32>,
    /// The vectors that are not zero in each of its rows, and their values there times their weights.
    reaching: Vec<Sparse>,
}

impl Vectors {
    /// Draws all, and keeps what is in these rows and columns.
    fn draw(recipe: &Recipe, rows: &Range<usize>, columns: &Range<usize>) -> Vectors {
        let mut drawn = Vectors {
            elements: Vec::new(),
            bounds: vec![0],
            reaching: vec![Sparse::new(); rows.len()],
        };
        let ratio = SMALLEST.powf(1.0 / recipe.order as f64);
        let mut weight = 1.0;
        let mut random = stream();
        for own in 0..recipe.order {
            for (place, value) in vector(&mut random, recipe, own) {
                if columns.contains(&place) {
                    let column = place - columns.start;
                    drawn.elements.push((column as u32, value));
                }
                if rows.contains(&place) {
                    let reaching = &mut drawn.reaching[place - rows.start];
                    reaching.push((own as u32, weight * value));
                }
            }
            drawn.bounds.push(drawn.elements.len() as u32);
            weight *= ratio;
        }
        drawn
    }

    /// The part of a vector that lies in the columns.
    fn part(&self, vector: u32) -> &[(u32, f64)] {
        let vector = vector as usize;
        &self.elements[self.bounds[vector] as usize..self.bounds[vector + 1] as usize]
    }
}

/// The numbers that the vectors are drawn from.
fn stream() -> Random {
    let mut random = Random::new(SEED);
    // The first number of the stream is not used.
    random.next();
    random
}

/// Draws pairs of value and place until there are enough different places; the place `own` gets its value anyhow.
fn vector(random: &mut Random, recipe: &Recipe, own: usize) -> Vec<(usize, f64)> {
    let places = recipe.order.next_power_of_two() as f64;
    let mut vector = Vec::with_capacity(recipe.nonzeros + 1);
    while vector.len() < recipe.nonzeros {
        let value = random.next();
        let place = (places * random.next()) as usize;
        if place < recipe.order && vector.iter().all(|&(known, _)| known != place) {
            vector.push((place, value));
        }
    }
    match vector.iter_mut().find(|(place, _)| *place == own) {
        Some(element) => element.1 = OWN,
        None => vector.push((own, OWN)),
    }
    vector
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The product by the definition: each outer product is a scalar product and a multiple of its vector.
    fn by_definition(recipe: &Recipe, operand: &[f64]) -> Vec<f64> {
        let unit = SMALLEST - recipe.shift;
        let mut product: Vec<f64> = operand.iter().map(|x| unit * x).collect();
        let mut random = stream();
        for number in 0..recipe.order {
            let vector = vector(&mut random, recipe, number);
            let weight = SMALLEST.powf(number as f64 / recipe.order as f64);
            let scalar: f64 = vector.iter().map(|&(place, x)| x * operand[place]).sum();
            for (place, x) in vector {
                product[place] += weight * scalar * x;
            }
        }
        product
    }

    /// The product of parts, so many rows of them and columns.
    fn by_parts(recipe: &Recipe, operand: &[f64], rows: usize, columns: usize) -> Vec<f64> {
        let cut = |parts, k| recipe.order * k / parts..recipe.order * (k + 1) / parts;
        let mut product = vec![0.0; recipe.order];
        for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)))
        {
            let (row, column) = (cut(rows, row), cut(columns, column));
            let part = Matrix::new(recipe, row.clone(), column.clone());
            let mut given = part.operand();
            given[..column.len()].copy_from_slice(&operand[column]);
            let mut result = vec![0.0; row.len()];
            part.multiply(&given, &mut result);
            for (sum, result) in product[row].iter_mut().zip(result) {
                *sum += result;
            }
        }
        product
    }

    fn assert_parts_make_the_whole(recipe: &Recipe, cuts: &[(usize, usize)]) {
        let mut random = Random::new(SEED);
        let operand: Vec<f64> = (0..recipe.order).map(|_| random.next() - 0.5).collect();
        let expected = by_definition(recipe, &operand);
        for &(rows, columns) in cuts {
            let product = by_parts(recipe, &operand, rows, columns);
            for (value, expected) in product.iter().zip(&expected) {
                assert!((value - expected).abs() < 1e-10, "{value} {expected}");
            }
        }
    }

    #[test]
    fn parts_make_the_whole() {
        let recipe = Recipe {
            order: 1_000,
            nonzeros: 7,
            shift: 10.0,
        };
        assert_parts_make_the_whole(&recipe, &[(1, 1), (1, 2), (2, 2), (4, 8), (3, 7)]);
    }

    #[test]
    fn a_matrix_may_be_wider_than_a_block() {
        let recipe = Recipe {
            order: WIDTH + 4_321,
            nonzeros: 2,
            shift: 1.0,
        };
        assert_parts_make_the_whole(&recipe, &[(1, 1), (2, 2)]);
    }
}
